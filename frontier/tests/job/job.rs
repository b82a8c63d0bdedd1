//! A job directory, as its user meets it: made, held, read, refused, overwritten.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crawler_frontier::address::FingerprintKey;
use crawler_frontier::job::{FileError, Job, JobError};
use tempfile::TempDir;

fn empty() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

const KEY: FingerprintKey = FingerprintKey::from_u64(0x005e_ed00_c0ff_ee00);

fn create(directory: &Path, overwrite: bool) -> Result<Job, JobError> {
    Job::create(directory, overwrite, KEY)
}

fn write(directory: &TempDir, name: &str, content: &str) {
    fs::write(directory.path().join(name), content).expect("a file");
}

fn names(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

/// An error's text, without the directory's own name.
fn text(error: &JobError, directory: &Path) -> String {
    error.to_string().replace(&format!("{}/", directory.display()), "")
}

/// What `create` says, where it is refused because the directory is somebody else's.
fn conflict(directory: &Path, overwrite: bool) -> String {
    let error = create(directory, overwrite).expect_err("refused");
    assert!(error.is_conflict());
    text(&error, directory)
}

#[test]
fn a_new_job_can_be_read_again() {
    let root = empty();
    let directory = root.path().join("crawls/first");
    let job = create(&directory, false).expect("a job");
    assert_eq!(job.pages_path(), directory.join("pages.jsonl"));
    assert_eq!(job.report_path(), directory.join("report.json"));

    // While it is held, too.
    let read = Job::open_for_reading(&directory).expect("the job");
    assert_eq!(read.manifest(), job.manifest());
    assert_eq!(read.manifest().crawler, env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_job_keeps_its_key_and_no_two_share_their_id() {
    let manifests = [empty(), empty()].map(|root| create(root.path(), false).expect("a job").manifest().clone());
    assert_ne!(manifests[0].id, manifests[1].id);
    assert_eq!(manifests[0].fingerprint_key, KEY);
}

#[test]
fn a_finished_job_is_kept_unless_it_is_to_be_overwritten() {
    let root = empty();
    let first = create(root.path(), false).expect("a job").manifest().clone();
    write(&root, "pages.jsonl", "{}\n");
    write(&root, "report.json", "{}");
    write(&root, "notes.txt", "mine");

    assert_eq!(conflict(root.path(), false), "manifest belongs to another crawl; --overwrite starts afresh");
    assert_eq!(names(&root), ["lock", "manifest", "notes.txt", "pages.jsonl", "report.json"]);
    assert_eq!(Job::open_for_reading(root.path()).expect("the job").manifest(), &first);

    for name in ["links.jsonl", "links.jsonl.cut", "pages.visits", "pages.visits.cut", "cookies.txt"] {
        write(&root, name, "of the first job");
    }
    let second = create(root.path(), true).expect("a job");
    assert_eq!(names(&root), ["lock", "manifest", "notes.txt"]);
    assert_ne!(second.manifest().id, first.id);
    assert!(["links.jsonl", "pages.visits", "a.jsonl"].iter().all(|name| second.has_room_for(name)));
    assert!(!["links.jsonl.cut", "cookies.txt", "frontier", "a/b"].iter().any(|name| second.has_room_for(name)));
}

#[test]
fn a_directory_of_somebody_else_is_not_touched() {
    for (name, content) in
        [("thesis.tex", "years"), ("pages.jsonl", "not ours"), ("manifest", "a ship's"), ("manifest", "")]
    {
        let root = empty();
        write(&root, name, content);
        for overwrite in [false, true] {
            let expected = format!("{name} is not part of a job; give an empty or a new directory");
            assert_eq!(conflict(root.path(), overwrite), expected);
        }
        assert_eq!(names(&root), [name]);
        assert_eq!(fs::read_to_string(root.path().join(name)).expect("the file"), content);
    }
}

#[test]
fn what_a_creation_that_died_left_is_no_obstacle() {
    let root = empty();
    write(&root, "lock", "");
    write(&root, "manifest.new", "crawler job, for");
    create(root.path(), false).expect("a job");
    assert_eq!(names(&root), ["lock", "manifest"]);
}

#[test]
fn a_job_has_one_holder() {
    let root = empty();
    let job = create(root.path(), false).expect("a job");
    for overwrite in [false, true] {
        let expected = "lock is locked: another process crawls into this directory";
        assert_eq!(conflict(root.path(), overwrite), expected);
    }
    assert_eq!(Job::open_for_reading(root.path()).expect("the job").manifest(), job.manifest());

    drop(job);
    assert!(matches!(create(root.path(), false), Err(JobError::Exists { .. })));
    create(root.path(), true).expect("a job");
}

#[test]
fn a_process_that_is_killed_holds_nothing() {
    let root = empty();
    let mut other = holder(root.path());
    assert!(matches!(create(root.path(), true), Err(JobError::Locked { .. })));

    other.kill().expect("killed");
    other.wait().expect("gone");
    create(root.path(), true).expect("a job");
}

/// Another process that has created a job and holds it: this test binary, running only [`hold_a_job`].
fn holder(directory: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "job::hold_a_job", "--ignored", "--nocapture"]).env("JOB_TO_HOLD", directory);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
    let mut said = BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("holding")), "the other process never held the job");
    child
}

#[test]
#[ignore = "no test: what `holder` runs"]
fn hold_a_job() {
    let Some(directory) = std::env::var_os("JOB_TO_HOLD") else { return };
    let _job = create(Path::new(&directory), false).expect("a job");
    println!("holding");
    // Until the parent kills it, or is gone itself.
    let _end = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_damaged_manifest_is_refused_with_its_place() {
    let root = empty();
    drop(create(root.path(), false).expect("a job"));
    let whole = fs::read_to_string(root.path().join("manifest")).expect("a manifest");
    for (line, damage, expected) in [
        (
            1,
            "crawler job, format one",
            "manifest:1: expected `crawler job, format ...`, found \"crawler job, format one\"",
        ),
        (2, "id = xyz", "manifest:2: expected `id = ...`, found \"id = xyz\""),
        (4, "", "manifest:4: expected `fingerprint_strategy = ...`, found \"\""),
        (7, "created = 1\n\u{1b}[2J", "manifest:8: expected `# checksum: ...`, found \"\\u{1b}[2J\""),
        (7, "created = 1", "manifest:9: the checksum does not match: put back a copy of the file"),
        (1, "crawler job, format 1", "manifest:1: format 1 is an earlier version's: go on with that version"),
    ] {
        let mut lines: Vec<_> = whole.lines().collect();
        lines[line - 1] = damage;
        write(&root, "manifest", &lines.join("\n"));
        let error = Job::open_for_reading(root.path()).expect_err("damaged");
        assert_eq!(text(&error, root.path()), expected);
        assert!(!error.is_conflict());
    }
    for length in "crawler job, format ".len()..whole.len() {
        write(&root, "manifest", &whole[..length]);
        let read = Job::open_for_reading(root.path());
        assert!(matches!(read, Err(JobError::Manifest { .. })), "cut at {length}");
    }

    // It is a job still: kept, unless it is to be overwritten.
    assert!(matches!(create(root.path(), false), Err(JobError::Exists { .. })));
    create(root.path(), true).expect("a job");
}

#[test]
fn a_newer_format_is_refused_with_both_numbers_and_never_overwritten() {
    let root = empty();
    write(&root, "manifest", "crawler job, format 4\nwhat = ever\n");
    for overwrite in [false, true] {
        let expected = "manifest has format 4; this version of crawler knows formats up to 3";
        assert_eq!(conflict(root.path(), overwrite), expected);
    }
    assert!(matches!(
        Job::open_for_reading(root.path()),
        Err(JobError::File(FileError::Newer { found: 4, supported: 3, .. }))
    ));
    assert_eq!(names(&root), ["manifest"]);
}

#[test]
fn no_job_is_said_so() {
    let root = empty();
    let nowhere = root.path().join("nowhere");
    for directory in [root.path(), &nowhere] {
        let error = Job::open_for_reading(directory).expect_err("nothing there");
        assert_eq!(error.to_string(), format!("{} holds no job: there is no manifest", directory.display()));
    }
    assert!(!nowhere.exists());
}

#[test]
fn a_file_in_the_directorys_place_is_said_so() {
    let root = empty();
    write(&root, "crawl", "a file");
    let error = create(&root.path().join("crawl"), true).expect_err("not a directory");
    assert_eq!(text(&error, root.path()), "cannot create crawl");
    assert!(!error.is_conflict());
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_is_said_so() {
    use std::os::unix::fs::PermissionsExt;

    let root = empty();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o555)).expect("read-only");
    // The superuser writes anywhere.
    if fs::write(root.path().join("probe"), "").is_ok() {
        return;
    }
    let error = create(root.path(), false).expect_err("refused");
    assert_eq!(text(&error, root.path()), "cannot create lock");
}
