//! A crawl that was stopped goes on: by the real command, on a simulated web.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crawler::address::FingerprintKey;

use crate::desk::{Desk, everything};
use crate::outputs;
use crate::ran::{Ran, crawler, set};

/// A desk with a crawl that was stopped after ten pages of many.
fn stopped() -> Desk {
    let desk = Desk::new();
    let ran = desk.crawl(&["--max-pages", "10"]);
    assert_eq!((ran.code, desk.pages().len()), (Some(0), 10), "{}", ran.err);
    assert!(ran.err.ends_with("to go on with more: crawler resume job --max-pages 20\n"), "{}", ran.err);
    desk
}

impl Desk {
    fn resume(&self, flags: &[&str]) -> Ran {
        self.run(&[&["resume", "job"], flags].concat())
    }

    fn report(&self) -> serde_json::Value {
        outputs::report(&self.at(""))
    }

    /// Page records while the crawl runs: the last may be half.
    fn pages_so_far(&self) -> usize {
        fs::read_to_string(self.at("pages.jsonl")).map_or(0, |text| text.matches('\n').count())
    }

    /// The newest file of this kind in the job's frontier.
    fn newest(&self, kind: &str) -> PathBuf {
        self.frontier(kind).pop().unwrap()
    }
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn a_stopped_crawl_goes_on_and_its_report_is_of_both_runs() {
    let everything = everything();
    for goes_on in [Desk::resume as fn(&Desk, &[&str]) -> Ran, Desk::crawl] {
        let desk = stopped();
        goes_on(&desk, &["--max-pages", "17"]).says(0, "job goes on: 10 pages are recorded");
        assert_eq!(desk.pages().len(), 17);
        let ran = goes_on(&desk, &["--max-pages", "100000"]);
        ran.says(0, "17 pages are recorded");
        assert!(!ran.err.contains("to go on with them"), "{}", ran.err);
        assert_eq!(desk.pages(), everything);
        let report = desk.report();
        assert_eq!((&report["finish"], &report["resumes"]), (&"drained".into(), &2.into()));
        assert_eq!(report["urls"]["fetched"], everything.len());
        assert_eq!(report["pages"]["first_byte"]["count"], report["pages"]["requests"]);
        let urls = &report["urls"];
        let refused: u64 = urls["refused"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(urls["found"].as_u64().unwrap(), urls["admitted"].as_u64().unwrap() + refused);
        assert_eq!(report["seeds"]["taken"], 1);
    }
}

#[test]
fn the_report_of_an_earlier_run_is_gone_while_the_job_goes_on() {
    let desk = stopped();
    desk.run(&["stats", "job"]).says(0, "");
    assert!(desk.at("report.json").exists());
    let flags = ["resume", "job", "--max-pages", "100", "--host-delay", "1h"];
    let mut child = desk.command(&flags).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while desk.at("report.json").exists() && began.elapsed() < Duration::from_secs(30) {
        thread::yield_now();
    }
    // Its first checkpoint may not be there yet.
    let ran = desk.run(&["stats", "job"]);
    child.kill().unwrap();
    child.wait().unwrap();
    ran.says(0, "job is being crawled, or was killed");
    assert!(ran.out.contains("\nNot finished"), "{}", ran.out);
}

/// A killed run's pages are counted by their records. Its time and its CPU time count too, up to its last second.
#[test]
fn time_and_costs_are_of_all_runs_however_often_it_is_killed() {
    let desk = Desk::new();
    let began = Instant::now();
    let flags = ["--simulate", "http://www.simulated.test/", "--job", "job", "--host-delay", "600ms"];
    // 15 pages of four hosts take two seconds by their delays. A kill loses at most one second.
    let mut spent = [0; 2];
    for run in 1..=2 {
        let mut child = desk.command(&flags).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        while !desk.at("pages.jsonl").exists() || desk.pages_so_far() < 15 * run {
            assert!(began.elapsed() < Duration::from_secs(120) && child.try_wait().unwrap().is_none());
            thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let bytes = fs::read(desk.at("frontier/spent")).unwrap();
        let [elapsed_us, cpu_us] = [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()));
        assert!(elapsed_us >= spent[0] + 1_000_000, "{elapsed_us} after {}", spent[0]);
        assert!(cpu_us >= spent[1], "{cpu_us} after {}", spent[1]);
        spent = [elapsed_us, cpu_us];
        let ran = desk.run(&["stats", "job", "--json"]);
        let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!([&told["elapsed_us"], &told["cost"]["cpu_us"]], spent.map(serde_json::Value::from).each_ref());
    }
    desk.resume(&["--host-delay", "1ms"]).says(0, "");
    let report = desk.report();
    let elapsed = Duration::from_micros(report["elapsed_us"].as_u64().unwrap());
    assert!((Duration::from_micros(spent[0])..began.elapsed()).contains(&elapsed), "{elapsed:?} after {spent:?}");
    assert!(report["cost"]["cpu_us"].as_u64().unwrap() > spent[1], "{} after {spent:?}", report["cost"]);
    assert_eq!(report["resumes"], 2);
}

#[test]
fn max_pages_is_of_the_job_and_max_duration_of_a_run() {
    let desk = stopped();
    let before = desk.pages();
    // The job has its pages: with the settings that it has, there is nothing to do.
    for _ in 0..2 {
        let ran = desk.resume(&[]);
        ran.says(0, "the job has its 10 pages (--max-pages counts all runs together)");
        assert_eq!(desk.pages(), before);
    }
    desk.crawl(&["--max-pages", "3"]).says(0, "the job has its 10 pages");
    assert_eq!(desk.pages(), before);
    desk.resume(&["--max-pages", "12"]).says(0, "the job has its 12 pages");
    assert_eq!((desk.pages().len(), &desk.report()["finish"]), (12, &"max_pages".into()));
    // A run's time is its own: the same again goes on.
    desk.resume(&["--max-pages", "unlimited", "--max-duration", "1ms"]).says(0, "the time of this run was over");
    let ran = desk.run(&["help", "crawl"]);
    assert!(
        ran.out.contains("all its runs together") && ran.out.contains("the flag holds for that run alone"),
        "{}",
        ran.out
    );
}

#[test]
fn a_finished_crawl_says_so_and_takes_new_seeds() {
    let desk = Desk::new();
    desk.crawl(&[]).says(0, "");
    let (pages, report) = (desk.pages(), desk.report());
    desk.resume(&[]).says(0, "job is finished: nothing is left to fetch");
    desk.crawl(&[]).says(0, "job is finished");
    assert_eq!((desk.pages(), desk.report()), (pages.clone(), report));
    desk.crawl(&["http://www.simulated.test/not-there-before"]).says(5, "not among its seeds");
    desk.crawl(&["http://www.simulated.test/not-there-before", "--add"]).says(0, "job goes on");
    assert_eq!(desk.pages().len(), pages.len() + 1);

    desk.crawl(&["--overwrite"]).says(0, "");
    assert_eq!((desk.pages(), &desk.report()["resumes"]), (pages, &0.into()));
}

#[test]
fn a_setting_that_would_break_the_job_is_refused_by_name_and_others_are_kept() {
    let desk = stopped();
    let before = desk.pages();
    for (flags, words) in [
        (&["--seen", "standard"][..], "--seen: seen.layout"),
        (&["--seen-capacity", "6000"], "--seen-capacity: seen.capacity"),
        (&["--shards", "2"], "--shards: seen.shards"),
        (&["--seen-rate", "0.1"], "--seen-rate: seen.false_positive_rate"),
    ] {
        desk.resume(flags).says(2, words);
        desk.resume(flags).says(2, "cannot be changed in a crawl that is under way; --overwrite starts afresh");
    }
    fs::write(desk.0.path().join("other.toml"), "keys.sort_query = false\nscope.kind = \"any\"\n").unwrap();
    desk.crawl(&["-c", "other.toml"]).says(2, "keys.sort_query");
    assert_eq!(desk.pages(), before, "what was refused has changed nothing");

    desk.resume(&["--depth", "50", "--max-pages", "11"]).says(0, "");
    let settings = fs::read_to_string(desk.at("").join("crawler.toml")).unwrap();
    assert!(settings.contains("max_depth = 50 # --depth"), "{settings}");
}

#[test]
fn flags_of_a_run_are_of_that_run_and_what_is_kept_is_said() {
    let desk = Desk::new();
    desk.crawl(&["--max-pages", "10", "--no-progress", "--max-duration", "2h", "-v"]).says(0, "");
    let settings = || fs::read_to_string(desk.at("crawler.toml")).unwrap();
    let of_run = ["\nprogress = true # ", "\nmax_duration = \"unlimited\" # ", "\njson = false # "];
    assert!(of_run.iter().all(|line| settings().contains(line)), "{}", settings());
    let ran = desk.resume(&["--no-progress", "--max-duration", "3h", "--json", "--max-pages", "11", "--depth", "50"]);
    ran.says(0, "note: job keeps for its later runs: crawl.max_pages, scope.max_depth\n");
    assert!(of_run.iter().all(|line| settings().contains(line)), "{}", settings());
    assert!(settings().contains("\nmax_pages = 11 # --max-pages\n"), "{}", settings());
    let ran = desk.resume(&["--max-pages", "11", "--max-duration", "1h"]);
    assert!(!ran.err.contains("keeps"), "nothing has changed: {}", ran.err);
    // A limit from the file counts for each run.
    let settings = settings().replace("max_duration = \"unlimited\"", "max_duration = \"5h\"");
    fs::write(desk.at("crawler.toml"), settings).unwrap();
    desk.resume(&["--max-duration", "1ms", "--max-pages", "12"]).says(0, "");
    assert!(fs::read_to_string(desk.at("crawler.toml")).unwrap().contains("\nmax_duration = \"5h\" # "));
}

#[test]
fn a_damaged_checkpoint_falls_back_to_the_one_before() {
    let everything = everything();
    for kind in ["checkpoint", "hosts", "seen"] {
        let desk = stopped();
        let newest = desk.newest(kind);
        let mut bytes = fs::read(&newest).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&newest, bytes).unwrap();
        let ran = desk.resume(&["--max-pages", "100000"]);
        ran.says(0, &format!("crawler: warning: job/frontier/{}", name(&newest)));
        ran.says(0, "10 pages are recorded");
        assert_eq!(desk.pages(), everything, "{kind}");
    }
}

#[test]
fn what_no_outcome_confirms_is_cut_off_the_output() {
    let desk = stopped();
    let before = desk.pages();
    let path = desk.at("").join("pages.jsonl");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"{\"url\": \"http://half"].concat()).unwrap();
    desk.resume(&["--max-pages", "11"]).says(0, "10 pages are recorded");
    assert_eq!(desk.pages().len(), 11);
    assert!(desk.pages().is_superset(&before));

    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    desk.resume(&[]).says(4, "the job cannot go on without its output");
}

#[test]
fn a_job_that_is_not_to_be_had_is_told_why() {
    let desk = Desk::new();
    desk.resume(&[]).says(5, "holds no job");

    let desk = stopped();
    let lock = fs::File::options().write(true).open(desk.at("").join("lock")).unwrap();
    lock.lock().unwrap();
    desk.resume(&[]).says(5, "another process crawls into this directory");
    desk.crawl(&["--overwrite"]).says(5, "another process crawls into this directory");
    drop(lock);

    let newest = desk.newest("checkpoint");
    let mut bytes = fs::read(&newest).unwrap();
    bytes[8] = 2;
    let checksum = FingerprintKey::from_u64(0).fingerprint_bytes(&bytes[..28]).bits();
    bytes[28..32].copy_from_slice(&checksum.to_le_bytes()[..4]);
    fs::write(&newest, bytes).unwrap();
    desk.resume(&[]).says(5, "has format 2; this version of crawler knows formats up to 1");

    let manifest = desk.at("").join("manifest");
    let text = fs::read_to_string(&manifest).unwrap();
    let sealed = |text: &str| {
        let lines = &text[..text.rfind("# checksum: ").unwrap()];
        let checksum = FingerprintKey::from_u64(0).fingerprint_bytes(lines.as_bytes()).bits();
        format!("{lines}# checksum: {checksum:016x}\n")
    };
    fs::write(&manifest, sealed(&text.replace("key_rules = 2", "key_rules = 9"))).unwrap();
    desk.resume(&[]).says(5, "has key_rules 9, but this version of crawler has 2");
    fs::write(&manifest, text.replace("format 3", "format 4")).unwrap();
    desk.resume(&[]).says(5, "has format 4");
}

#[test]
fn a_disk_that_is_nearly_full_stops_the_crawl_in_good_order() {
    let everything = everything();
    let desk = Desk::new();
    // More than any disk has free; asked once a second, so the crawl must be slower than that.
    let flags = ["--host-delay", "100ms", "-c", "full.toml"];
    fs::write(desk.0.path().join("full.toml"), "job.min_free_disk = \"4096TiB\"\n").unwrap();
    let mut command = crawler(&desk.0, ["--simulate", "http://www.simulated.test/", "--job", "job"]);
    command.args(flags).envs(set([("SIMULATE_HOSTS", "4"), ("SIMULATE_PAGES", "60")]));
    let ran = Ran::from(command.output().unwrap());
    ran.says(4, "the disk is nearly full");
    ran.says(4, "crawler resume job");
    assert_eq!(desk.report()["finish"], "disk_low");
    fs::write(desk.0.path().join("room.toml"), "").unwrap();
    let mut command = crawler(&desk.0, ["resume", "job"]);
    command.envs(set([("JOB_MIN_FREE_DISK", "1kB"), ("POLITENESS_HOST_DELAY", "1ms")]));
    Ran::from(command.output().unwrap()).says(0, "job goes on");
    assert_eq!(desk.pages(), everything);
}
