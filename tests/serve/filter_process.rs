//! `crawler serve --listen-resp` as a process: what was answered survives `kill -9`; and clients in other languages, where they are there.
//!
//! `RESP_PYTHON` is a Python with redis-py and valkey-py, `RESP_NODE` a directory with node-redis, `OPENAPI_PYTHON` one with
//! openapi-spec-validator. A test whose client is missing says so and passes; with `NO_SKIPS` it fails.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, thread};

use crate::resp_client::{Answer, RespClient, command};

const ARGUMENTS: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--listen-resp", "127.0.0.1:0"];

/// A server of filters, which dies with the test.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(place: &Path, token: Option<&str>) -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_crawler"));
        server.args(ARGUMENTS).current_dir(place);
        if let Some(token) = token {
            server.args(["--token", "env:FILTER_TOKEN"]).env("FILTER_TOKEN", token);
        }
        Self::of(server)
    }

    /// No file of it may have more blocks of 1,024 bytes than this.
    fn on_a_small_disk(place: &Path, blocks: u32) -> Self {
        let mut server = Command::new("bash");
        let limited = format!("ulimit -f {blocks} && exec \"$0\" \"$@\"");
        server.args(["-c", &limited, env!("CARGO_BIN_EXE_crawler")]).args(ARGUMENTS).current_dir(place);
        Self::of(server)
    }

    fn of(mut server: Command) -> Self {
        let mut process = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        lines.next().unwrap().unwrap();
        let address = lines.next().unwrap().unwrap().parse().unwrap();
        Self { process, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Four clients add members without pause, while the server is killed again and again.
#[test]
fn what_was_answered_survives_kills() {
    let place = tempfile::tempdir().unwrap();
    let mut answered = [0_u64; 4];
    for round in 0..6 {
        let server = Server::start(place.path(), None);
        let mut client = RespClient::of(server.address);
        if round == 0 {
            assert_eq!(client.ask("BF.RESERVE bloom 0.000001 1000000"), Answer::Simple("OK".to_owned()));
        }
        for (number, &answered) in (0..).zip(&answered) {
            for member in 0..answered {
                client.send(&command(&[b"SISMEMBER", b"urls", format!("{number}/{member}").as_bytes()]));
                client.send(&command(&[b"BF.EXISTS", b"bloom", format!("{number}/{member}").as_bytes()]));
                if member % 64 == 63 || member + 1 == answered {
                    for _ in 0..2 * (member % 64 + 1) {
                        assert_eq!(client.answer(), Answer::Integer(1), "round {round}, before {number}/{member}");
                    }
                }
            }
        }
        thread::scope(|scope| {
            for (number, answered) in (0..).zip(&mut answered) {
                // It is connected before the server's time runs.
                let client = RespClient::of(server.address);
                scope.spawn(move || add_until_killed(number, answered, client));
            }
            thread::sleep(Duration::from_millis(100));
            drop(server);
        });
    }
    assert!(answered.iter().all(|answered| *answered > 100), "{answered:?}");
}

/// Adds members in batches of 64 from where it was; counts those that were answered.
fn add_until_killed(number: u64, answered: &mut u64, mut client: RespClient) {
    loop {
        let mut bytes = Vec::new();
        for member in *answered..*answered + 64 {
            let member = format!("{number}/{member}");
            bytes.extend(command(&[b"SADD", b"urls", member.as_bytes()]));
            bytes.extend(command(&[b"BF.ADD", b"bloom", member.as_bytes()]));
        }
        if client.try_send(&bytes).is_err() {
            return;
        }
        for _ in 0..64 {
            // Those that were written before the server was killed, and not answered, are not new.
            for _ in 0..2 {
                match client.try_answer() {
                    Ok(answer) => assert!(matches!(answer, Answer::Integer(0 | 1)), "{answer:?}"),
                    Err(_) => return,
                }
            }
            *answered += 1;
        }
    }
}

/// What was refused is new when there is room again, and what was answered is known.
#[test]
fn a_full_disk_refuses_and_keeps_what_was_answered() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::on_a_small_disk(place.path(), 128);
    let mut client = RespClient::of(server.address);
    let mut kept = 0;
    let refused = loop {
        match client.ask(&format!("SADD urls {kept}")) {
            Answer::Integer(1) => kept += 1,
            refused => break refused,
        }
        assert!(kept < 100_000, "the disk is never full");
    };
    assert!(matches!(&refused, Answer::Error(error) if error.contains("may be sent again")), "{refused:?}");
    assert!(kept > 1_000, "{kept}");
    // It goes on to answer, and the refused member is not known.
    assert_eq!(client.ask("PING"), Answer::Simple("PONG".to_owned()));
    assert_eq!(client.ask("SISMEMBER urls 0"), Answer::Integer(1));
    assert_eq!(client.ask(&format!("SISMEMBER urls {kept}")), Answer::Integer(0));
    assert!(matches!(client.ask(&format!("SADD urls {kept}")), Answer::Error(_)), "the disk is still full");
    drop(server);

    let server = Server::start(place.path(), None);
    let mut client = RespClient::of(server.address);
    for member in 0..kept {
        client.send(&command(&[b"SISMEMBER", b"urls", member.to_string().as_bytes()]));
        if member % 64 == 63 || member + 1 == kept {
            for _ in 0..=member % 64 {
                assert_eq!(client.answer(), Answer::Integer(1), "before {member}");
            }
        }
    }
    assert_eq!(client.ask(&format!("SADD urls {kept}")), Answer::Integer(1));
    assert_eq!(client.ask("SCARD urls"), Answer::Integer(kept + 1));
}

/// What a variable names, or what is missing.
fn given(variable: &str, what: &str) -> Option<String> {
    let given = env::var(variable).ok();
    if given.is_none() {
        assert!(env::var_os("NO_SKIPS").is_none(), "{variable} names no {what}");
        println!("skipped: {variable} names no {what}");
    }
    given
}

fn runs(command: &mut Command) -> String {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve").join(name)
}

#[test]
fn redis_py_and_valkey_py_are_unchanged() {
    let Some(python) = given("RESP_PYTHON", "Python with redis and valkey") else { return };
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(place.path(), Some("secret"));
    for client in ["redis", "valkey"] {
        let port = server.address.port().to_string();
        let said = runs(Command::new(&python).arg(script("resp_clients.py")).args([client, &port, "secret"]));
        assert_eq!(said, "ok\n");
    }
}

#[test]
fn node_redis_is_unchanged() {
    let Some(directory) = given("RESP_NODE", "directory with node-redis") else { return };
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(place.path(), Some("secret"));
    let port = server.address.port().to_string();
    let said = runs(Command::new("node").arg(script("resp_clients.mjs")).args([&directory, &port, "secret"]));
    assert_eq!(said, "ok\n");
}

#[test]
fn redis_benchmark_is_unchanged() {
    if Command::new("redis-benchmark").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(env::var_os("NO_SKIPS").is_none(), "no redis-benchmark: apt-get install redis-tools");
        println!("skipped: no redis-benchmark");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(place.path(), Some("secret"));
    let port = server.address.port().to_string();
    let benchmark = |arguments: &[&str]| {
        let mut command = Command::new("redis-benchmark");
        runs(
            command
                .args(["-p", &port, "-a", "secret", "-n", "20000", "-P", "16", "-q", "-r", "1000000"])
                .args(arguments),
        )
    };
    assert!(benchmark(&["-t", "sadd"]).contains("SADD"));
    let said = benchmark(&["BF.ADD", "bloom", "http://a.example/__rand_int__"]);
    assert!(said.contains("requests per second"), "{said}");
    let mut client = RespClient::of(server.address);
    client.ask("AUTH secret");
    assert!(client.ask("SCARD myset").number() > 10_000.0);
    assert!(client.ask("BF.CARD bloom").number() > 10_000.0);
}

#[test]
fn a_validator_accepts_the_description_of_the_calls() {
    let Some(python) = given("OPENAPI_PYTHON", "Python with openapi-spec-validator") else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json");
    runs(Command::new(python).args(["-m", "openapi_spec_validator"]).arg(file));
}
