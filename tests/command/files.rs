//! The job's own files: missing, empty, cut short, another job's, a link, or removed while a crawl writes to them. A refused command
//! changes nothing: if the file is put back, the job is whole again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tempfile::TempDir;

use crate::desk::{Desk, everything};
use crate::outputs;
use crate::ran::Ran;

/// A desk with a crawl that was stopped after ten pages of many.
fn stopped() -> Desk {
    let desk = Desk::new();
    desk.crawl(&["--max-pages", "10"]).says(0, "URLs are waiting");
    desk
}

impl Desk {
    fn go_on(&self) -> Ran {
        self.run(&["resume", "job", "--max-pages", "unlimited"])
    }

    /// All files and their contents.
    fn content(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut content = BTreeMap::new();
        let mut folders = vec![self.at("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap() {
                    kind if kind.is_dir() => folders.push(entry.path()),
                    // A pipe would be waited for.
                    kind if !kind.is_file() => drop(content.insert(entry.path(), Vec::new())),
                    _ => drop(content.insert(entry.path(), fs::read(entry.path()).unwrap_or_default())),
                }
            }
        }
        content
    }
}

/// Where a kind of file is.
type File = fn(&Desk) -> PathBuf;

/// What may happen to a file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Harm {
    Gone,
    Emptied,
    Halved,
    Directory,
    Link,
    LinkToNothing,
    Pipe,
    Unreadable,
}

const HARMS: [Harm; 8] = [
    Harm::Gone,
    Harm::Emptied,
    Harm::Halved,
    Harm::Directory,
    Harm::Link,
    Harm::LinkToNothing,
    Harm::Pipe,
    Harm::Unreadable,
];

/// Whether permissions are not checked: the superuser reads every file.
fn is_superuser(desk: &Desk) -> bool {
    use std::os::unix::fs::PermissionsExt;

    let probe = desk.0.path().join("probe");
    fs::write(&probe, "").unwrap();
    fs::set_permissions(&probe, fs::Permissions::from_mode(0o000)).unwrap();
    fs::read(&probe).is_ok()
}

impl Harm {
    /// Does it; where the file was put by.
    fn to(self, path: &Path, aside: &Path) {
        use std::os::unix::fs::PermissionsExt;

        fs::rename(path, aside).unwrap();
        let whole = fs::read(aside).unwrap();
        match self {
            Self::Gone => {}
            Self::Emptied => fs::write(path, "").unwrap(),
            Self::Halved => fs::write(path, &whole[..whole.len() / 2]).unwrap(),
            Self::Directory => fs::create_dir(path).unwrap(),
            Self::Link => symlink(aside, path).unwrap(),
            Self::LinkToNothing => symlink(aside.with_extension("nowhere"), path).unwrap(),
            Self::Pipe => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
            Self::Unreadable => {
                fs::write(path, &whole).unwrap();
                fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
            }
        }
    }

    fn undo(path: &Path, aside: &Path) {
        let _ = fs::remove_dir(path).or_else(|_| fs::remove_file(path));
        fs::rename(aside, path).unwrap();
    }
}

/// Each file of a job, in each way: the crawl goes on and loses nothing, or is refused with the file's name, and has changed
/// nothing that would be missed once the file is back.
#[test]
fn a_file_that_is_harmed_costs_no_page() {
    let everything = everything();
    let files: [(&str, File); 9] = [
        ("pages", |desk| desk.at("pages.jsonl")),
        ("journal", |desk| desk.frontier("journal-").pop().unwrap()),
        ("checkpoint", |desk| desk.frontier("checkpoint-").pop().unwrap()),
        ("seen", |desk| desk.frontier("seen-").pop().unwrap()),
        ("manifest", |desk| desk.at("manifest")),
        ("settings", |desk| desk.at("crawler.toml")),
        ("report", |desk| desk.at("report.json")),
        ("lock", |desk| desk.at("lock")),
        ("seeds", |desk| desk.at("seeds.txt")),
    ];
    let (mut refused, mut gone_on) = (BTreeSet::new(), BTreeSet::new());
    std::thread::scope(|scope| {
        let harmed = files.map(|(kind, file)| {
            scope.spawn({
                let everything = &everything;
                move || (kind, each_harm(kind, file, everything))
            })
        });
        for (kind, (these, those)) in harmed.map(|harmed| harmed.join().unwrap()) {
            refused.extend(these.into_iter().map(|harm| (kind, harm)));
            gone_on.extend(those.into_iter().map(|harm| (kind, harm)));
        }
    });
    let is_refused = |kind: &str, harm: Harm| refused.contains(&(kind, format!("{harm:?}")));
    for kind in ["pages", "journal", "manifest", "settings", "checkpoint", "seen", "lock", "seeds"] {
        for harm in [Harm::Directory, Harm::Link, Harm::LinkToNothing, Harm::Pipe] {
            assert!(is_refused(kind, harm), "{kind} {harm:?} goes on");
        }
    }
    for kind in ["pages", "journal", "manifest", "settings"] {
        for harm in [Harm::Gone, Harm::Emptied, Harm::Halved] {
            assert!(is_refused(kind, harm), "{kind} {harm:?} goes on");
        }
    }
    assert!(is_refused("seeds", Harm::Emptied) && is_refused("seeds", Harm::Halved));
    assert!(gone_on.contains(&("seen", "Gone".to_owned())) && gone_on.contains(&("lock", "Gone".to_owned())));
}

/// Does each harm to a file of a job; which were refused, and which the crawl went on with.
fn each_harm(
    kind: &str,
    file: fn(&Desk) -> PathBuf,
    everything: &BTreeSet<String>,
) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut refused, mut gone_on) = (BTreeSet::new(), BTreeSet::new());
    let desk = stopped();
    let before = TempDir::new().unwrap();
    let copied = Command::new("cp").arg("-a").arg(desk.at("")).arg(before.path().join("job")).status().unwrap();
    assert!(copied.success());
    for harm in HARMS {
        if harm == Harm::Unreadable && is_superuser(&desk) {
            continue;
        }
        fs::remove_dir_all(desk.at("")).unwrap();
        let copied = Command::new("cp").arg("-a").arg(before.path().join("job")).arg(desk.at("")).status().unwrap();
        assert!(copied.success());
        let (path, aside) = (file(&desk), desk.0.path().join("aside"));
        harm.to(&path, &aside);
        let untouched = desk.content();
        let ran = desk.go_on();
        let told = format!("{kind} {harm:?}: {:?} {}{}", ran.code, ran.err, ran.out);
        if ran.code == Some(0) {
            gone_on.insert(format!("{harm:?}"));
            fs::remove_file(&aside).unwrap();
        } else {
            refused.insert(format!("{harm:?}"));
            // The name of a missing segment is unknown.
            let name = if kind == "journal" { "journal-" } else { path.file_name().unwrap().to_str().unwrap() };
            assert!(ran.err.contains(name), "{told}");
            let output = desk.at("pages.jsonl");
            assert_eq!(desk.content().get(&output), untouched.get(&output), "{told}");
            assert!(!desk.at("pages.jsonl.cut").exists(), "{told}");
            Harm::undo(&path, &aside);
            desk.go_on().says(0, "");
        }
        assert_eq!(&desk.pages(), everything, "{told}");
    }
    (refused, gone_on)
}

#[test]
fn a_job_that_has_records_and_no_journal_is_refused_and_told_what_to_do() {
    let desk = stopped();
    fs::rename(desk.at("frontier"), desk.0.path().join("aside")).unwrap();
    let before = desk.content();
    for _ in 0..2 {
        let ran = desk.go_on();
        ran.says(4, "job/frontier");
        ran.says(4, "job/pages.jsonl has");
        ran.says(4, "--overwrite");
        assert_eq!(desk.content(), before, "nothing is made in its place");
    }
    desk.crawl(&[]).says(4, "job/frontier");
    fs::rename(desk.0.path().join("aside"), desk.at("frontier")).unwrap();
    desk.go_on().says(0, "10 pages are recorded");
    assert_eq!(desk.pages(), everything());
    assert_eq!(outputs::report(&desk.at(""))["finish"], "drained");
}

#[test]
fn without_checkpoints_the_whole_journal_is_replayed() {
    let everything = everything();
    let desk = stopped();
    for kind in ["checkpoint-", "hosts-", "seen-"] {
        desk.frontier(kind).iter().for_each(|path| fs::remove_file(path).unwrap());
    }
    desk.go_on().says(0, "10 pages are recorded");
    assert_eq!(desk.pages(), everything);
}

/// Without checkpoints, it is unknown how much was safe on disk. So a damaged record does not count as a torn end.
#[test]
fn without_checkpoints_a_damaged_record_is_no_torn_end() {
    let desk = stopped();
    for kind in ["checkpoint-", "hosts-", "seen-"] {
        desk.frontier(kind).iter().for_each(|path| fs::remove_file(path).unwrap());
    }
    for path in [desk.at("pages.jsonl"), desk.frontier("journal-").pop().unwrap()] {
        let whole = fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        damaged[whole.len() / 3] ^= 1;
        fs::write(&path, &damaged).unwrap();
        let before = desk.content();
        let ran = desk.go_on();
        ran.says(4, path.file_name().unwrap().to_str().unwrap());
        ran.says(4, "damaged at byte");
        ran.says(4, "crawler repair job");
        assert_eq!(desk.content(), before);
        fs::write(&path, &whole).unwrap();
    }
    desk.go_on().says(0, "10 pages are recorded");
    assert_eq!(desk.pages(), everything());
}

#[test]
fn without_checkpoints_a_record_that_was_changed_is_found_and_one_that_was_cut_off_is_not_missed() {
    let desk = stopped();
    let go_on = |pages: &str| {
        for kind in ["checkpoint-", "hosts-", "seen-"] {
            desk.frontier(kind).iter().for_each(|path| fs::remove_file(path).unwrap());
        }
        desk.run(&["resume", "job", "--max-pages", pages])
    };
    // A kill took the last record, and the run after it went on without.
    let path = desk.at("pages.jsonl");
    let whole = fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
    fs::write(&path, &whole[..=last]).unwrap();
    go_on("20").says(0, "9 pages are recorded");
    go_on("25").says(0, "20 pages are recorded");
    // One that was written before the job was opened again.
    let whole = fs::read(&path).unwrap();
    let mut changed = whole.clone();
    changed[100] ^= 1;
    fs::write(&path, &changed).unwrap();
    go_on("30").says(4, "pages.jsonl is damaged at byte 0");
    assert_eq!(fs::read(&path).unwrap(), changed);
    fs::write(&path, &whole).unwrap();
    go_on("unlimited").says(0, "25 pages are recorded");
    assert_eq!(desk.pages(), everything());
}

#[test]
fn what_is_cut_off_is_kept_beside() {
    let desk = stopped();
    let path = desk.at("pages.jsonl");
    let mut all = Vec::new();
    for tail in ["{\"url\": \"http://half", "{\"url\": \"http://other"] {
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], tail.as_bytes()].concat()).unwrap();
        let ran = desk.run(&["resume", "job", "--max-pages", "10"]);
        ran.says(0, &format!("the last {} bytes of ", tail.len()));
        ran.says(0, "job/pages.jsonl.cut");
        assert_eq!(fs::read(&path).unwrap(), whole);
        all.extend_from_slice(tail.as_bytes());
        all.push(b'\n');
        assert_eq!(fs::read(desk.at("pages.jsonl.cut")).unwrap(), all);
    }
    let old =
        ["checkpoint", "contents", "evicted", "hosts", "seen"].map(|name| desk.at(&format!("frontier/{name}-000099")));
    for path in &old {
        fs::write(path, "").unwrap();
    }
    desk.crawl(&["--overwrite", "--max-pages", "1"]).says(0, "");
    assert!(old.iter().all(|path| !path.exists()), "they were that crawl's");
    assert!(!desk.at("pages.jsonl.cut").exists(), "it was that crawl's");
}

#[test]
fn settings_that_are_not_whole_are_refused() {
    let desk = stopped();
    let path = desk.at("crawler.toml");
    let whole = fs::read_to_string(&path).unwrap();
    for lacking in ["resolve_all_to = ", "scope]", "robots = "] {
        let text: String = whole.split_inclusive('\n').filter(|line| !line.contains(lacking)).collect();
        fs::write(&path, text).unwrap();
        let ran = desk.go_on();
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains("job/crawler.toml"), "{}", ran.err);
    }
    fs::write(&path, whole).unwrap();
    desk.go_on().says(0, "");
}

/// A crawl that goes on for long, and has recorded something.
struct Running {
    child: Child,
}

impl Running {
    fn of(desk: &Desk) -> Self {
        let arguments = ["--simulate", "http://www.simulated.test/", "--job", "job", "--seen-capacity", "5000"];
        let mut command = desk.command(&arguments);
        command.env("CRAWLER_POLITENESS_HOST_DELAY", "400ms").env("CRAWLER_JOB_CHECKPOINT_INTERVAL", "1s");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while !fs::metadata(desk.at("pages.jsonl")).is_ok_and(|pages| pages.len() > 0) {
            assert!(child.try_wait().unwrap().is_none(), "it has recorded nothing");
            std::thread::yield_now();
        }
        Self { child }
    }

    /// Does something while the crawl stands still.
    fn standing_still<T>(&self, act: impl FnOnce() -> T) -> T {
        let crawl = Pid::from_child(&self.child);
        kill_process(crawl, Signal::STOP).unwrap();
        waitpid(Some(crawl), WaitOptions::UNTRACED).unwrap();
        let done = act();
        kill_process(crawl, Signal::CONT).unwrap();
        done
    }

    fn end(self) -> Ran {
        self.child.wait_with_output().unwrap().into()
    }
}

#[test]
fn who_removes_the_lock_lets_nobody_in() {
    let everything = everything();
    for put_another in [false, true] {
        let desk = Desk::new();
        let running = Running::of(&desk);
        // Once it sees that its lock is gone it ends, which lets others in.
        let second = running.standing_still(|| {
            fs::remove_file(desk.at("lock")).unwrap();
            if put_another {
                fs::write(desk.at("lock"), "").unwrap();
            }
            desk.go_on()
        });
        second.says(5, "another process crawls into this directory");
        running.end().says(4, "job/lock");
        desk.go_on().says(0, "goes on");
        assert_eq!(desk.pages(), everything);
    }
}

#[test]
fn a_manifest_that_is_removed_under_a_crawl_is_written_again() {
    let desk = Desk::new();
    let mut running = Running::of(&desk);
    // It is begun by now.
    while !desk.at("manifest").exists() {
        std::thread::yield_now();
    }
    let before = fs::read(desk.at("manifest")).unwrap();
    fs::remove_file(desk.at("manifest")).unwrap();
    while !desk.at("manifest").exists() {
        assert!(running.child.try_wait().unwrap().is_none(), "nobody wrote it");
        std::thread::yield_now();
    }
    assert_eq!(fs::read(desk.at("manifest")).unwrap(), before);
    running.child.kill().unwrap();
    let ran = running.end();
    assert!(ran.err.contains("manifest was removed while the crawl runs; it is written again"), "{}", ran.err);
    desk.go_on().says(0, "goes on");
    assert_eq!(desk.pages(), everything());
}

/// A bit that a disk has turned makes another host of a seed.
#[test]
fn a_seed_of_which_a_bit_is_turned_is_not_asked_for() {
    let desk = stopped();
    let mut seeds = fs::read(desk.at("seeds.txt")).unwrap();
    seeds[12] ^= 1;
    fs::write(desk.at("seeds.txt"), seeds).unwrap();
    desk.go_on().says(4, "job/seeds.txt is damaged");
}

#[test]
fn an_output_that_is_taken_away_under_a_crawl_is_noticed_and_nothing_is_lost() {
    let everything = everything();
    // Removed, it is written again; with another in its place, it is put beside.
    for put_another in [None, Some("")] {
        let desk = Desk::new();
        let running = Running::of(&desk);
        fs::remove_file(desk.at("pages.jsonl")).unwrap();
        if let Some(text) = put_another {
            fs::write(desk.at("pages.jsonl"), text).unwrap();
        }
        let ran = running.end();
        ran.says(4, "job/pages.jsonl");
        if put_another.is_some() {
            ran.says(4, "job/pages.jsonl.saved");
            fs::rename(desk.at("pages.jsonl.saved"), desk.at("pages.jsonl")).unwrap();
        }
        assert!(!desk.pages().is_empty());
        desk.go_on().says(0, "goes on");
        assert_eq!(desk.pages(), everything);
    }
}

#[test]
fn an_output_that_is_written_to_by_others_is_noticed() {
    let everything = everything();
    for harm in ["cut", "appended"] {
        let desk = Desk::new();
        let running = Running::of(&desk);
        let file = fs::File::options().append(true).open(desk.at("pages.jsonl")).unwrap();
        if harm == "cut" {
            file.set_len(3).unwrap();
        } else {
            use std::io::Write;
            (&file).write_all(b"{\"mine\": true}\n").unwrap();
        }
        let ran = running.end();
        ran.says(4, "job/pages.jsonl");
        ran.says(4, "another program");
        drop(desk.go_on());
        desk.run(&["repair", "job", "--yes"]);
        desk.go_on().says(0, "");
        assert_eq!(desk.pages(), everything, "{harm}");
    }
}
