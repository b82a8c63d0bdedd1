//! `crawler repair`, on jobs that are damaged in each way: what can be asked for again is, and no page is there twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::desk::{Desk, everything};
use crate::outputs;
use crate::ran::Ran;
use crate::random::Random;

/// A desk with a crawl that was stopped in its middle.
fn stopped() -> Desk {
    let desk = Desk::new();
    desk.crawl(&["--max-pages", "30"]).says(0, "URLs are waiting");
    desk
}

impl Desk {
    /// Lists the damage, repairs it, and resumes to the end. Returns the fetched pages.
    fn mended(&self) -> BTreeSet<String> {
        let before = fs::read(self.at("pages.jsonl")).ok();
        let looked = self.run(&["repair", "job"]);
        assert!(looked.out.contains("damaged: job/"), "{looked:?}");
        looked.says(1, "nothing was changed; to repair it: crawler repair job --yes");
        assert_eq!(fs::read(self.at("pages.jsonl")).ok(), before);
        assert!(!self.at("frontier.damaged").exists());
        let ran = self.run(&["repair", "job", "--yes"]);
        ran.says(0, "to continue: crawler resume job");
        assert_eq!(ran.out, looked.out, "it does what it said");
        assert!(self.at("frontier.damaged").is_dir());
        self.run(&["repair", "job"]).says(0, "no file that job needs is damaged");
        let ran = self.run(&["resume", "job", "--max-pages", "unlimited"]);
        ran.says(0, "");
        // The seed may have been lost: the first command has it.
        self.crawl(&["--max-pages", "unlimited"]).says(0, "");
        assert_eq!(outputs::report(&self.at(""))["finish"], "drained");
        self.pages()
    }
}

fn flip(path: &Path, at: usize, bytes: usize) {
    let mut content = fs::read(path).unwrap();
    for byte in content.iter_mut().skip(at).take(bytes) {
        *byte ^= 0x55;
    }
    fs::write(path, content).unwrap();
}

fn size(path: &Path) -> usize {
    usize::try_from(fs::metadata(path).unwrap().len()).unwrap()
}

#[test]
fn a_whole_job_needs_no_repair() {
    let desk = stopped();
    desk.run(&["repair", "job"]).says(0, "no file that job needs is damaged");
    desk.run(&["repair", "job", "--yes"]).says(0, "no file that job needs is damaged");
    // After a kill, no checkpoint confirms its end.
    let path = desk.at("pages.jsonl");
    fs::write(&path, [&fs::read(&path).unwrap()[..], b"{\"url\": \"http://half"].concat()).unwrap();
    desk.run(&["repair", "job"]).says(0, "no file that job needs is damaged");
    // The journal alone is enough, and so is one checkpoint.
    for kind in ["hosts-", "seen-", "checkpoint-"] {
        flip(desk.frontier(kind).last().unwrap(), 40, 4);
        assert!(desk.run(&["repair", "job"]).out.contains("checkpoint: job/frontier/"));
    }
    assert!(!desk.at("frontier.damaged").exists());
    let ran = desk.run(&["repair", "nowhere"]);
    assert!(matches!(ran.code, Some(1 | 5)) && ran.err.contains("holds no job"), "{}", ran.err);
}

#[test]
fn a_journal_that_is_damaged_in_its_middle_costs_no_page() {
    let everything = everything();
    let mut random = Random(0x5eed);
    for (round, bytes) in [1, 1, 40, 400, 1, 2000].into_iter().enumerate() {
        let desk = stopped();
        let journal = desk.frontier("journal-").pop().unwrap();
        let length = size(&journal);
        // The first record is of the opening, then come the seed and the first page's links.
        let at = 60 + usize::try_from(random.below(length as u64 - 2200)).unwrap();
        flip(&journal, at, bytes);
        let told = format!("round {round}: {bytes} bytes at {at} of {length}");
        let fetched = desk.mended();
        assert_eq!(fetched, everything, "{told}");
    }
}

#[test]
fn a_journal_that_is_damaged_in_many_places_costs_no_page() {
    let everything = everything();
    let desk = stopped();
    let journal = desk.frontier("journal-").pop().unwrap();
    for at in (100..size(&journal) - 100).step_by(1500) {
        flip(&journal, at, 1);
    }
    assert_eq!(desk.mended(), everything);
}

#[test]
fn a_journal_whose_end_or_header_is_gone_costs_no_page() {
    let everything = everything();
    for harm in ["end", "header"] {
        let desk = stopped();
        let journal = desk.frontier("journal-").pop().unwrap();
        match harm {
            "end" => {
                fs::File::options().write(true).open(&journal).unwrap().set_len(size(&journal) as u64 / 2).unwrap();
            }
            _ => flip(&journal, 3, 1),
        }
        assert_eq!(desk.mended(), everything, "{harm}");
    }
}

#[test]
fn page_records_that_are_damaged_or_gone_are_fetched_again() {
    let everything = everything();
    for harm in ["flipped", "zeros", "short", "gone", "a line less"] {
        let desk = stopped();
        let path = desk.at("pages.jsonl");
        let whole = fs::read(&path).unwrap();
        let middle = whole.len() / 2;
        match harm {
            "flipped" => flip(&path, middle, 1),
            "zeros" => {
                let mut damaged = whole.clone();
                damaged[middle..middle + 2000].fill(0);
                fs::write(&path, damaged).unwrap();
            }
            "short" => fs::write(&path, &whole[..middle]).unwrap(),
            "gone" => fs::remove_file(&path).unwrap(),
            _ => {
                let text = String::from_utf8(whole.clone()).unwrap();
                let lines: Vec<_> = text.split_inclusive('\n').collect();
                fs::write(&path, [&lines[..10], &lines[11..]].concat().concat()).unwrap();
            }
        }
        assert_eq!(desk.mended(), everything, "{harm}");
    }
}

/// If the journal's segments were removed, only a checkpoint has its content.
#[test]
fn without_checkpoints_records_tell_what_a_removed_journal_told() {
    let desk = stopped();
    let everything = everything();
    let settings = desk.at("crawler.toml");
    let text = fs::read_to_string(&settings).unwrap().replace("keep_journal = true", "keep_journal = false");
    fs::write(&settings, text).unwrap();
    // As if everything before were in a segment that was removed.
    let journal = desk.frontier("journal-").pop().unwrap();
    desk.run(&["resume", "job", "--max-pages", "31"]).says(0, "");
    let _ = journal;
    for kind in ["checkpoint-", "hosts-"] {
        desk.frontier(kind).iter().for_each(|path| flip(path, 40, 4));
    }
    flip(&desk.frontier("journal-").pop().unwrap(), 300, 1);
    assert_eq!(desk.mended(), everything);
}

#[test]
fn a_job_that_is_crawled_is_not_repaired_and_one_without_journal_cannot_be() {
    let desk = stopped();
    let lock = fs::File::options().write(true).open(desk.at("lock")).unwrap();
    lock.lock().unwrap();
    desk.run(&["repair", "job", "--yes"]).says(5, "another process crawls into this directory");
    drop(lock);
    fs::remove_dir_all(desk.at("frontier")).unwrap();
    desk.run(&["repair", "job", "--yes"]).says(4, "has neither journal nor checkpoints");
}

/// How often each page is in the archive, and each link in the list.
fn further(desk: &Desk) -> (BTreeMap<String, usize>, BTreeMap<String, usize>) {
    let count = |lines: &str, of: &dyn Fn(&str) -> String| {
        let mut counts = BTreeMap::new();
        lines.lines().map(of).for_each(|line| *counts.entry(line).or_default() += 1);
        counts
    };
    let index = desk.run(&["cdxj", "job"]);
    index.says(0, "");
    let key = |line: &str| line.split(' ').next().unwrap().to_owned();
    let mut archived = count(&index.out, &key);
    // A repair has each host asked for it again.
    archived.retain(|key, _| !key.contains("robots"));
    (archived, count(&fs::read_to_string(desk.at("links.jsonl")).unwrap(), &str::to_owned))
}

impl Desk {
    /// Crawls with all outputs, in an archive of many files.
    fn keep_everything(&self, flags: &[&str]) -> Ran {
        let arguments = ["--simulate", "http://www.simulated.test/", "--job", "job", "--seen-capacity", "5000"];
        let mut command = self.command(&[&arguments[..], &["--links", "--visits", "--warc"], flags].concat());
        command.env("CRAWLER_OUTPUT_WARC_BYTES", "64KiB").output().unwrap().into()
    }
}

/// The files of the archive, the last one last.
fn archives(desk: &Desk) -> Vec<PathBuf> {
    let files = fs::read_dir(desk.at("")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.to_str().unwrap().contains(".warc.gz")).collect();
    files.sort();
    files
}

#[test]
fn what_further_outputs_have_lost_is_asked_for_again_and_is_in_none_twice() {
    let whole = Desk::new();
    whole.keep_everything(&[]).says(0, "");
    let (everything, expected) = (whole.pages(), further(&whole));
    for output in ["links.jsonl", "pages.visits", "archive"] {
        for harm in ["gone", "short", "flipped"] {
            let desk = Desk::new();
            desk.keep_everything(&["--max-pages", "30"]).says(0, "URLs are waiting");
            let path = if output == "archive" { archives(&desk).pop().unwrap() } else { desk.at(output) };
            let bytes = fs::read(&path).unwrap();
            match harm {
                "gone" => fs::remove_file(&path).unwrap(),
                "short" => fs::write(&path, &bytes[..bytes.len() / 3]).unwrap(),
                _ => flip(&path, bytes.len() / 2, 1),
            }
            if harm != "flipped" {
                desk.run(&["resume", "job", "--max-pages", "35"]).says(4, "crawler repair job");
            }
            assert_eq!(desk.mended(), everything, "{output} {harm}");
            let (archived, links) = further(&desk);
            assert_eq!(archived, expected.0, "{output} {harm}");
            assert_eq!(links, expected.1, "{output} {harm}");
        }
    }
}

#[test]
fn files_that_were_moved_away_from_the_front_of_an_archive_are_not_missed() {
    let desk = Desk::new();
    desk.keep_everything(&["--max-pages", "30"]).says(0, "URLs are waiting");
    let files = archives(&desk);
    assert!(files.len() > 2);
    fs::remove_file(&files[0]).unwrap();
    desk.run(&["repair", "job"]).says(0, "no file that job needs is damaged");
    desk.run(&["resume", "job", "--max-pages", "unlimited"]).says(0, "");
}

/// Outputs that this run does not write are left alone.
#[test]
fn outputs_that_are_not_written_any_more_may_be_gone() {
    let desk = Desk::new();
    desk.crawl(&["--links", "--max-pages", "30"]).says(0, "URLs are waiting");
    fs::remove_file(desk.at("links.jsonl")).unwrap();
    let mut command = desk.command(&["resume", "job", "--max-pages", "40"]);
    Ran::from(command.env("CRAWLER_OUTPUT_LINKS", "false").output().unwrap()).says(0, "");
    desk.run(&["repair", "job"]).says(0, "no file that job needs is damaged");
}
