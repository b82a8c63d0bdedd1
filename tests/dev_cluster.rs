//! `--dev-cluster`: nodes and servers on this machine, which end with the command. It needs `nats-server`; where that is not installed, it
//! says that it is skipped; with `NO_SKIPS`, it fails.
#![cfg(all(feature = "cluster", unix))]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

fn is_skipped() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let is_there = places.any(|place| place.join("nats-server").is_file());
    assert!(is_there || std::env::var_os("NO_SKIPS").is_none(), "no nats-server: apt-get install nats-server");
    if !is_there {
        eprintln!("skipped: no nats-server: apt-get install nats-server");
    }
    !is_there
}

/// Two nodes on a simulated web.
fn start(place: &Path, pages: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["--simulate", "--simulate-hosts", "10", "--simulate-pages", pages, "http://www.simulated.test/"]);
    command.args(["--dev-cluster=2", "--job", "job", "--host-delay", "5ms", "--no-progress"]);
    command.env("CRAWLER_CLUSTER_PARTITIONS", "4").env("CRAWLER_CLUSTER_LEASE", "5s").current_dir(place);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A connection to the first of the servers.
fn connect(place: &Path) -> std::io::Result<TcpStream> {
    let config = fs::read_to_string(place.join("job/servers/n0/nats.conf")).unwrap();
    TcpStream::connect(config.lines().find_map(|line| line.strip_prefix("listen: ")).unwrap())
}

#[test]
fn a_cluster_on_one_machine_crawls_all_of_a_web_and_is_gone() {
    if is_skipped() {
        return;
    }
    let place = TempDir::new().unwrap();
    let output = start(place.path(), "300").wait_with_output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    let judged = out.split_once("simulated web 1: 300 pages on 10 hosts").unwrap().1;
    assert!(judged.contains(", missed 0\n  fetched twice 0, against robots 0, "), "{out}");
    assert!(err.contains("crawler merge job/node* -o pages.jsonl"), "{err}");
    assert!(connect(place.path()).is_err(), "the servers have ended");
    let mut merge = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let merged = merge.args(["merge", "job/node0", "job/node1"]).current_dir(place.path()).output().unwrap();
    let fetched = judged.split("fetched ").nth(1).unwrap().split(',').next().unwrap();
    assert_eq!(String::from_utf8_lossy(&merged.stdout).lines().count().to_string(), fetched);
}

#[test]
fn servers_and_nodes_do_not_outlive_a_command_that_is_killed() {
    if is_skipped() {
        return;
    }
    let place = TempDir::new().unwrap();
    let mut command = start(place.path(), "50000");
    let mut err = BufReader::new(command.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("2 nodes crawl into job") {
        line.clear();
        assert!(err.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    let mut server = connect(place.path()).unwrap();
    // A server that is killed before it has said anything says nothing.
    let mut said = [0; 5];
    server.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"INFO ");
    command.kill().unwrap();
    command.wait().unwrap();
    // Its end is the connection's end, and that of the first node closes standard error.
    let mut left = String::new();
    _ = server.read_to_end(&mut Vec::new());
    err.read_to_string(&mut left).unwrap();
    // The system closes what a process had one after the other: a server that is ending may still take a connection, and then ends it.
    let is_gone = (0..100).any(|_| match connect(place.path()) {
        Err(_) => true,
        Ok(mut server) => {
            server.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            _ = server.read_to_end(&mut Vec::new());
            false
        }
    });
    assert!(is_gone, "{left}");
}
