//! Files of a job that are missing, unreadable, or directories: each command says what they held, and what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{Desk, Ran, Site, quick};

/// What became of a file of a job.
#[derive(Clone, Copy, Debug)]
enum Spoiled {
    Gone,
    /// A directory has its name.
    Directory,
    /// Only root may read it.
    Closed,
}

const GONE: &str = "No such file or directory";
const LINKS: &str = "links.jsonl has each link of each page: a crawl writes it with --links";
const SKIPPED: &str = "skipped.jsonl has each link that was refused: a crawl writes it with --skipped";
const PAGES: &str =
    "pages.jsonl has the record of each page: a crawl writes it, unless they go to standard output (-o -)";
const VISITS: &str = "pages.visits has what a later crawl compares each page with: a crawl writes it with --visits";
const SETTINGS: &str = "crawler.toml has the settings of the last run: put back a copy, or give the command that began the crawl once more";
const ARCHIVE: &str = "pages-000000000000000.warc.gz";
const FRONTIER: &str = "restore it from a copy, or see what can be saved without it: crawler repair job";

/// A file of the job, how it is spoiled, a command, its exit code, and parts of its message. `whole` is the same job, unspoiled.
type Unread = (&'static str, Spoiled, &'static [&'static str], i32, &'static [&'static str]);

const UNREAD: &[Unread] = &[
    (
        "links.jsonl",
        Spoiled::Gone,
        &["export", "job", "--of", "links"],
        1,
        &["cannot read job/links.jsonl", GONE, LINKS],
    ),
    (
        "links.jsonl",
        Spoiled::Gone,
        &["merge", "job", "--of", "links"],
        1,
        &["cannot read job/links.jsonl", GONE, LINKS],
    ),
    (
        "links.jsonl",
        Spoiled::Gone,
        &["merge", "job", "--of", "links", "-o", "x.csv"],
        1,
        &["cannot read job/links.jsonl", LINKS],
    ),
    ("links.jsonl", Spoiled::Gone, &["broken", "job"], 0, &[]),
    (
        "skipped.jsonl",
        Spoiled::Gone,
        &["export", "job", "--of", "skipped"],
        1,
        &["cannot read job/skipped.jsonl", SKIPPED],
    ),
    ("pages.jsonl", Spoiled::Gone, &["export", "job"], 1, &["cannot read job/pages.jsonl", GONE, PAGES]),
    ("pages.jsonl", Spoiled::Gone, &["export", "job", "-o", "x.csv"], 1, &["cannot read job/pages.jsonl", PAGES]),
    ("pages.jsonl", Spoiled::Gone, &["merge", "job"], 1, &["cannot read job/pages.jsonl", PAGES]),
    ("pages.jsonl", Spoiled::Gone, &["diff", "whole", "job"], 1, &["cannot read job/pages.jsonl", PAGES]),
    ("pages.jsonl", Spoiled::Gone, &["diff", "job", "whole", "--pages"], 1, &["cannot read job/pages.jsonl", PAGES]),
    ("pages.jsonl", Spoiled::Gone, &["broken", "job"], 0, &["job has no pages.jsonl"]),
    ("pages.jsonl", Spoiled::Gone, &["resume", "job"], 4, &["job/pages.jsonl has 0 bytes", FRONTIER]),
    ("pages.visits", Spoiled::Gone, &["unmet", "whole", "job"], 5, &["cannot read job/pages.visits", GONE, VISITS]),
    ("pages.visits", Spoiled::Gone, &["unmet", "job", "whole"], 5, &["cannot read job/pages.visits", VISITS]),
    (
        "pages.visits",
        Spoiled::Gone,
        &["http://127.0.0.1/", "--recrawl", "job", "--job=new"],
        2,
        &["crawl it with --visits"],
    ),
    ("crawler.toml", Spoiled::Gone, &["resume", "job"], 2, &["cannot read job/crawler.toml", SETTINGS]),
    ("crawler.toml", Spoiled::Gone, &["retry", "job"], 2, &["cannot read job/crawler.toml", SETTINGS]),
    ("crawler.toml", Spoiled::Gone, &["repair", "job"], 2, &["cannot read job/crawler.toml", SETTINGS]),
    (
        "frontier/seen-000002",
        Spoiled::Gone,
        &["seen", "info", "job"],
        1,
        &["cannot read job/frontier/seen-000002", FRONTIER],
    ),
    (ARCHIVE, Spoiled::Gone, &["cdxj", "job"], 0, &["a crawl writes them with --warc"]),
    ("manifest", Spoiled::Gone, &["stats", "job"], 5, &["job holds no job", "a job is made by a crawl"]),
    ("manifest", Spoiled::Gone, &["unmet", "whole", "job"], 5, &["job holds no job", "a job is made by a crawl"]),
    ("", Spoiled::Gone, &["seen", "info", "job"], 1, &["cannot read job", GONE, "crawler seen build"]),
    ("", Spoiled::Gone, &["cdxj", "job"], 1, &["cannot read job", GONE, "a crawl writes them with --warc"]),
    ("links.jsonl", Spoiled::Directory, &["export", "job", "--of", "links"], 1, &["cannot read job/links.jsonl", MOVE]),
    ("links.jsonl", Spoiled::Directory, &["broken", "job"], 1, &["cannot read job/links.jsonl", MOVE]),
    ("links.jsonl", Spoiled::Directory, &["merge", "job", "--of", "links"], 1, &["cannot read job/links.jsonl", MOVE]),
    ("links.jsonl", Spoiled::Directory, &["resume", "job"], 4, &["cannot open job/links.jsonl", MOVE]),
    ("pages.jsonl", Spoiled::Directory, &["export", "job", "-o", "x.csv"], 1, &["cannot read job/pages.jsonl", MOVE]),
    ("pages.jsonl", Spoiled::Directory, &["diff", "whole", "job"], 1, &["cannot read job/pages.jsonl", MOVE]),
    ("report.json", Spoiled::Directory, &["stats", "job"], 1, &["cannot read job/report.json", MOVE]),
    ("report.json", Spoiled::Directory, &["resume", "job"], 1, &["cannot remove job/report.json", MOVE]),
    ("report.html", Spoiled::Directory, &["report", "job"], 1, &["cannot write job/report.html", MOVE]),
    ("crawler.toml", Spoiled::Directory, &["top", "job"], 2, &["cannot read job/crawler.toml", MOVE]),
    ("manifest", Spoiled::Directory, &["drop", "job"], 1, &["cannot open job/manifest", MOVE]),
    (
        "manifest",
        Spoiled::Directory,
        &["http://127.0.0.1/", "--recrawl", "job", "--job=new"],
        2,
        &["cannot open job/manifest: it is a directory"],
    ),
    (ARCHIVE, Spoiled::Directory, &["cdxj", "job"], 1, &["cannot read job/pages-000000000000000.warc.gz", MOVE]),
    (ARCHIVE, Spoiled::Directory, &["repair", "job"], 4, &["cannot open job/pages-000000000000000.warc.gz", MOVE]),
    (ARCHIVE, Spoiled::Directory, &["resume", "job"], 4, &["cannot open job/pages-000000000000000.warc.gz", MOVE]),
    ("links.jsonl", Spoiled::Closed, &["export", "job", "--of", "links"], 1, &["cannot read job/links.jsonl", CLOSED]),
    (
        "pages.jsonl",
        Spoiled::Closed,
        &["explain", "http://127.0.0.1/", "--job", "job"],
        1,
        &["job/pages.jsonl", CLOSED],
    ),
    ("pages.jsonl", Spoiled::Closed, &["merge", "job"], 1, &["cannot read job/pages.jsonl", CLOSED]),
    ("report.json", Spoiled::Closed, &["stats", "job"], 1, &["cannot read job/report.json", CLOSED]),
    ("crawler.toml", Spoiled::Closed, &["dashboard", "job"], 2, &["cannot read job/crawler.toml", CLOSED]),
    ("frontier", Spoiled::Closed, &["seen", "info", "job"], 1, &["cannot list job/frontier", CLOSED]),
    (ARCHIVE, Spoiled::Closed, &["cdxj", "job"], 1, &["cannot read job/pages-000000000000000.warc.gz", CLOSED]),
    ("", Spoiled::Closed, &["stats", "job"], 1, &["cannot open job/manifest", CLOSED]),
];

const MOVE: &str = "a directory has the name of that file: move it away";
const CLOSED: &str = "this user may not: run the command as the user that crawled";

/// Runs the command as a user that may not read everything, as root may.
struct Nobody {
    /// Where that user can reach it.
    binary: PathBuf,
}

impl Nobody {
    /// `None` where no command can be run as another user.
    fn of(desk: &Desk) -> Option<Self> {
        let binary = desk.at("crawler-for-all");
        fs::copy(env!("CARGO_BIN_EXE_crawler"), &binary).unwrap();
        fs::set_permissions(desk.at(""), fs::Permissions::from_mode(0o755)).unwrap();
        let nobody = Self { binary };
        if nobody.command(desk, &["--version"]).output().is_ok_and(|ran| ran.status.success()) {
            return Some(nobody);
        }
        eprintln!("files that may not be read are not tested: this user cannot be another one by setpriv");
        None
    }

    fn command(&self, desk: &Desk, arguments: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&self.binary).args(arguments);
        command.current_dir(desk.at("")).stdin(Stdio::null());
        command
    }

    fn run(&self, desk: &Desk, arguments: &[&str]) -> Ran {
        self.command(desk, arguments).output().unwrap().into()
    }
}

/// Each command, on a job with one spoiled file: it names the file, and says what the file holds and what to do.
#[test]
fn a_file_that_cannot_be_had_is_told_with_what_it_holds_and_what_to_do() {
    let (desk, site) = (Desk::new(), Site::new());
    let outputs = ["--job=whole", "--links", "--skipped", "--visits", "--warc"];
    desk.run(quick(&[&[&*site.url()][..], &outputs].concat())).says(0, &[]);
    let (nobody, mut wrong) = (Nobody::of(&desk), Vec::new());
    for (file, spoiled, command, code, words) in UNREAD {
        let job = desk.at("job");
        if job.exists() {
            assert!(Command::new("chmod").args(["-R", "u+rwX"]).arg(&job).status().unwrap().success());
            fs::remove_dir_all(&job).unwrap();
        }
        assert!(Command::new("cp").arg("-r").args([desk.at("whole"), job.clone()]).status().unwrap().success());
        let path = job.join(file);
        match spoiled {
            Spoiled::Closed if nobody.is_none() => continue,
            Spoiled::Closed => fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap(),
            _ if path.is_dir() => fs::remove_dir_all(&path).unwrap(),
            _ => fs::remove_file(&path).unwrap(),
        }
        if matches!(spoiled, Spoiled::Directory) {
            fs::create_dir(&path).unwrap();
        }
        let ran = match &nobody {
            Some(nobody) if matches!(spoiled, Spoiled::Closed) => nobody.run(&desk, command),
            _ => desk.run(*command),
        };
        let missing: Vec<_> = words.iter().filter(|words| !ran.err.contains(**words)).collect();
        let lines: Vec<_> = ran.err.lines().collect();
        let is_said_twice = lines.iter().enumerate().any(|(at, line)| lines[..at].contains(line));
        let has_number = ran.err.contains("os error") || ran.out.contains("os error");
        if ran.code != Some(*code) || !missing.is_empty() || is_said_twice || has_number {
            let (code, said) = (ran.code, ran.err);
            wrong.push(format!("{command:?}, {file} {spoiled:?}: {code:?}, without {missing:?}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    desk.run(["export", "whole", "-o", "none/x.csv"])
        .says(2, &["cannot write none/x.csv", "there is no directory none"]);
    // A file where a job should be.
    desk.write("file", "x");
    for command in [
        &["stats", "file"][..],
        &["merge", "file"],
        &["broken", "file"],
        &["drop", "file", "--host", "a.test"],
        &["resume", "file"],
    ] {
        desk.run(command).says(5, &["file is a file, and a job is a directory"]).keeps_silent_about("os error");
    }
}
