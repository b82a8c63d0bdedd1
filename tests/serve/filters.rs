//! Filters over Redis' protocol: what commands answer, what survives, and what is refused.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crawler::serve::filters::{FilterLimits, Filters};
use crawler::serve::http::{Access, certificate};
use crawler::serve::resp::{RespLimits, RespServer};
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::resp_client::{Answer, RespClient, command};

/// A server of the filters of a directory.
struct Filtering {
    address: SocketAddr,
    filters: Arc<Filters>,
    runtime: Option<Runtime>,
}

impl Filtering {
    fn at(directory: &Path) -> Self {
        Self::with(directory, FilterLimits::default(), RespLimits::default(), Access::default())
    }

    fn with(directory: &Path, limits: FilterLimits, bounds: RespLimits, access: Access) -> Self {
        let filters = Arc::new(Filters::open(directory, limits).unwrap());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let address = "127.0.0.1:0".parse().unwrap();
        let server = runtime.block_on(RespServer::listen(address, Arc::clone(&filters), access, bounds)).unwrap();
        let address = server.address().unwrap();
        runtime.spawn(server.serve());
        Self { address, filters, runtime: Some(runtime) }
    }

    fn client(&self) -> RespClient {
        RespClient::of(self.address)
    }

    /// Ends without a snapshot, as if it were killed.
    fn kill(mut self) {
        self.runtime.take().unwrap().shutdown_timeout(Duration::from_secs(10));
    }
}

impl Drop for Filtering {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(10));
            self.filters.close();
        }
    }
}

fn ok() -> Answer {
    Answer::Simple("OK".to_owned())
}

fn count(count: usize) -> Answer {
    Answer::Integer(count.try_into().unwrap())
}

fn error(text: &str) -> Answer {
    Answer::Error(text.to_owned())
}

fn integers<const N: usize>(numbers: [i64; N]) -> Answer {
    Answer::Array(numbers.map(Answer::Integer).to_vec())
}

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn a_set_answers_as_redis_does() {
    let directory = tempfile::tempdir().unwrap();
    let served = Filtering::at(directory.path());
    let mut client = served.client();
    for (line, answer) in [
        ("SISMEMBER urls a", Answer::Integer(0)),
        ("SMISMEMBER urls a b", integers([0, 0])),
        ("SCARD urls", Answer::Integer(0)),
        ("TYPE urls", Answer::Simple("none".to_owned())),
        ("SADD urls a", Answer::Integer(1)),
        ("sadd urls a", Answer::Integer(0)),
        ("SADD urls a b b c", Answer::Integer(2)),
        ("SISMEMBER urls b", Answer::Integer(1)),
        ("SMISMEMBER urls a x c", integers([1, 0, 1])),
        ("SCARD urls", Answer::Integer(3)),
        ("TYPE urls", Answer::Simple("set".to_owned())),
        ("EXISTS urls other urls", Answer::Integer(2)),
        ("BF.ADD urls a", error(WRONG_TYPE)),
        ("BF.EXISTS urls a", error(WRONG_TYPE)),
        ("BF.CARD urls", error(WRONG_TYPE)),
        ("BF.INFO urls", error(WRONG_TYPE)),
        ("DEL urls other", Answer::Integer(1)),
        ("SADD urls a", Answer::Integer(1)),
    ] {
        assert_eq!(client.ask(line), answer, "{line}");
    }
}

#[test]
fn a_bloom_filter_answers_as_redis_does() {
    let directory = tempfile::tempdir().unwrap();
    let served = Filtering::at(directory.path());
    let mut client = served.client();
    for (line, answer) in [
        ("BF.RESERVE f 0.001 1000", ok()),
        ("BF.RESERVE f 0.001 1000", error("ERR item exists")),
        ("BF.RESERVE g 1 1000", error("ERR (0 < error rate range < 1)")),
        ("BF.RESERVE g 0 1000", error("ERR (0 < error rate range < 1)")),
        ("BF.RESERVE g NaN 1000", error("ERR (0 < error rate range < 1)")),
        ("BF.RESERVE g x 1000", error("ERR bad error rate")),
        ("BF.RESERVE g 0.1 x", error("ERR bad capacity")),
        ("BF.RESERVE g 0.1 0", error("ERR (capacity should be larger than 0)")),
        ("BF.RESERVE g 0.1 10 EXPANSION x", error("ERR bad expansion")),
        ("BF.RESERVE g 0.1 10 EXPANSION 2 NONSCALING", error("ERR Nonscaling filters cannot expand")),
        ("BF.RESERVE g 0.1 10 ELASTIC", error("ERR syntax error")),
        ("BF.INFO g", error("ERR not found")),
        ("BF.ADD f a", Answer::Integer(1)),
        ("BF.ADD f a", Answer::Integer(0)),
        ("BF.MADD f a b c b", integers([0, 1, 1, 0])),
        ("BF.EXISTS f b", Answer::Integer(1)),
        ("BF.MEXISTS f b x", integers([1, 0])),
        ("BF.CARD f", Answer::Integer(3)),
        ("BF.EXISTS none b", Answer::Integer(0)),
        ("BF.CARD none", Answer::Integer(0)),
        ("BF.ADD made a", Answer::Integer(1)),
        ("BF.INSERT new NOCREATE ITEMS a", error("ERR not found")),
        (
            "BF.INSERT new NOCREATE CAPACITY 3 ITEMS a",
            error("ERR NOCREATE cannot be used together with CAPACITY or ERROR"),
        ),
        ("BF.INSERT new CAPACITY 3 ERROR 0.01 EXPANSION 2", error("ERR syntax error")),
        ("BF.INSERT new CAPACITY 3 ERROR 0.01 ITEMS", error("ERR wrong number of arguments for 'bf.insert' command")),
        ("BF.INSERT new CAPACITY 3 ERROR 0.01 ITEMS a b a", integers([1, 1, 0])),
        ("BF.INSERT new NOCREATE ITEMS a c", integers([0, 1])),
        ("TYPE new", Answer::Simple("MBbloom--".to_owned())),
        ("SADD f a", error(WRONG_TYPE)),
        ("SCARD f", error(WRONG_TYPE)),
        ("BF.INFO f ITEMS", integers([3])),
        ("BF.INFO f COLOR", error("ERR invalid information value")),
    ] {
        assert_eq!(client.ask(line), answer, "{line}");
    }
    // Full, and it does not grow.
    assert_eq!(client.ask("BF.RESERVE fixed 0.0001 3 NONSCALING"), ok());
    assert_eq!(client.ask("BF.MADD fixed a b c"), integers([1, 1, 1]));
    let full = error("ERR non scaling filter is full");
    assert_eq!(client.ask("BF.ADD fixed d"), full);
    assert_eq!(client.ask("BF.MADD fixed a d b"), Answer::Array(vec![Answer::Integer(0), full, Answer::Integer(0)]));
    assert_eq!(client.ask("BF.INFO fixed").of("Expansion rate"), Answer::Null);
}

#[test]
fn information_states_what_is_lost() {
    const ADDED: u32 = 20_000;
    let directory = tempfile::tempdir().unwrap();
    let served = Filtering::at(directory.path());
    let mut client = served.client();
    client.ask("BF.RESERVE g 0.05 20000 NONSCALING");
    let mut lost = 0;
    for number in 0..ADDED {
        lost += u32::from(client.ask(&format!("BF.ADD g http://a.example/{number}")) == Answer::Integer(0));
    }
    for is_3 in [false, true] {
        if is_3 {
            client.ask("HELLO 3");
        }
        let information = client.ask("BF.INFO g");
        assert_eq!(matches!(information, Answer::Map(_)), is_3);
        let of = |name: &str| information.of(name).number();
        let is = |name: &str, value: f64| assert!((of(name) - value).abs() < 1e-9, "{name}: {information:?}");
        is("Capacity", 20_000.0);
        is("Number of items inserted", f64::from(ADDED - lost));
        is("Error rate asked for", 0.05);
        assert!((0.03..0.06).contains(&of("Error rate now")), "{information:?}");
        assert!((0.3..0.8).contains(&of("Fill ratio")), "{information:?}");
        let expected = of("URLs expected lost");
        assert!((f64::from(lost) - expected).abs() < 5.0 * expected.sqrt(), "{lost} lost, {expected} expected");
        // All URLs are in the sample.
        is("Measured on one URL in", 1.0);
        is("URLs measured lost", f64::from(lost));
    }
}

#[test]
fn version_3_has_booleans() {
    let directory = tempfile::tempdir().unwrap();
    let served = Filtering::at(directory.path());
    let mut client = served.client();
    let hello = client.ask("HELLO 3 SETNAME worker");
    assert_eq!(hello.of("proto"), Answer::Integer(3));
    assert_eq!(client.ask("CLIENT GETNAME"), Answer::Bulk("worker".to_owned()));
    assert_eq!(client.ask("BF.ADD f a"), Answer::Boolean(true));
    assert_eq!(client.ask("BF.MADD f a b"), Answer::Array(vec![Answer::Boolean(false), Answer::Boolean(true)]));
    assert_eq!(client.ask("BF.EXISTS f c"), Answer::Boolean(false));
    assert_eq!(client.ask("SADD s a"), Answer::Integer(1));
    assert_eq!(client.ask("SISMEMBER s a"), Answer::Integer(1));
    assert_eq!(client.ask("HELLO 4"), error("NOPROTO unsupported protocol version"));
    assert_eq!(client.ask("HELLO 2").of("proto"), Answer::Integer(2));
    assert_eq!(client.ask("BF.EXISTS f a"), Answer::Integer(1));
}

#[test]
fn other_commands_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let served = Filtering::at(directory.path());
    let mut client = served.client();
    for (line, answer) in [
        ("PING", Answer::Simple("PONG".to_owned())),
        ("PING hello", Answer::Bulk("hello".to_owned())),
        ("ECHO hello", Answer::Bulk("hello".to_owned())),
        ("SELECT 0", ok()),
        ("SELECT 1", error("ERR DB index is out of range")),
        ("CLIENT SETINFO LIB-NAME x", ok()),
        ("GET a", error("ERR unknown command 'GET', with args beginning with: 'a'")),
        ("SADD s", error("ERR wrong number of arguments for 'sadd' command")),
        ("BF.ADD s a b", error("ERR wrong number of arguments for 'bf.add' command")),
        ("COMMAND COUNT", Answer::Integer(25)),
        ("RESET", Answer::Simple("RESET".to_owned())),
    ] {
        assert_eq!(client.ask(line), answer, "{line}");
    }
    let Answer::Bulk(information) = client.ask("INFO") else { panic!() };
    assert!(information.contains("redis_version:"), "{information}");
    // What a client sends cannot look like an answer.
    client.send(&command(&[b"GET\r\n+OK\r\n", b"\r\n:1"]));
    assert_eq!(client.answer(), error("ERR unknown command 'GET  +OK  ', with args beginning with: '  :1'"));
    assert_eq!(client.ask("PING"), Answer::Simple("PONG".to_owned()));
    // A browser's request is no command, and ends the connection.
    client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n*1\r\n$4\r\nPING\r\n");
    assert_eq!(client.answer(), error("ERR Protocol error: expected '*', got 'P'"));
    assert!(client.try_answer().is_err());
    let mut client = served.client();
    assert_eq!(client.ask("QUIT"), ok());
    assert!(client.try_answer().is_err());
}

#[test]
fn strangers_may_only_give_the_token() {
    let directory = tempfile::tempdir().unwrap();
    let access = Access { token: Some("the token".to_owned()), certificate: None };
    let served = Filtering::with(directory.path(), FilterLimits::default(), RespLimits::default(), access);
    let mut client = served.client();
    for line in ["PING", "SADD s a", "INFO", "COMMAND", "CLIENT ID", "DEL s"] {
        assert_eq!(client.ask(line), error("NOAUTH Authentication required."), "{line}");
    }
    assert!(matches!(client.ask("HELLO 3"), Answer::Error(text) if text.starts_with("NOAUTH")));
    for strings in
        [vec!["AUTH", "the toke"], vec!["AUTH", "other", "the token"], vec!["HELLO", "3", "AUTH", "default", "x"]]
    {
        client.send(&command(&strings.iter().map(|string| string.as_bytes()).collect::<Vec<_>>()));
        assert!(matches!(client.answer(), Answer::Error(text) if text.starts_with("WRONGPASS")), "{strings:?}");
    }
    client.send(&command(&[b"AUTH", b"the token"]));
    assert_eq!(client.answer(), ok());
    assert_eq!(client.ask("SADD s a"), Answer::Integer(1));
    // After RESET it is a stranger again.
    client.ask("RESET");
    assert_eq!(client.ask("SADD s a"), error("NOAUTH Authentication required."));
    client.send(&command(&[b"HELLO", b"3", b"AUTH", b"default", b"the token"]));
    assert_eq!(client.answer().of("proto"), Answer::Integer(3));
    assert_eq!(client.ask("SADD s a"), Answer::Integer(0));
    // A stranger may not send much.
    let mut client = served.client();
    client.send(&command(&[b"AUTH", &[b'x'; 5_000]]));
    assert!(matches!(client.answer(), Answer::Error(text) if text.contains("at most 4096 bytes")));
    assert!(client.try_answer().is_err());
}

#[test]
fn what_is_beyond_a_bound_is_refused_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let mut limits = FilterLimits::default();
    (limits.filters, limits.name_bytes, limits.bytes) = (3, 20, 2 << 20);
    let mut bounds = RespLimits::default();
    (bounds.strings, bounds.string_bytes, bounds.command_bytes) = (100, 1_000, 10_000);
    bounds.patience = Duration::from_millis(200);
    let served = Filtering::with(directory.path(), limits, bounds, Access::default());
    let mut client = served.client();
    assert_eq!(client.ask("SADD a-name-that-is-too-long a"), error("ERR a name is UTF-8 of 1 to 20 bytes"));
    assert!(matches!(client.ask("BF.RESERVE f 0.0001 100000000"), Answer::Error(text) if text.starts_with("OOM")));
    for name in ["a", "b", "c"] {
        assert_eq!(client.ask(&format!("BF.RESERVE {name} 0.01 100")), ok());
    }
    assert_eq!(client.ask("BF.ADD d a"), error("ERR there are 3 filters, and may be no more"));
    assert_eq!(client.ask("DEL a"), Answer::Integer(1));
    // It grows until the memory is full; what is in there is still found.
    let mut added = 0;
    let full = loop {
        match client.ask(&format!("SADD s {added}")) {
            Answer::Integer(_) => added += 1,
            other => break other,
        }
        assert!(added < 1_000_000);
    };
    assert!(matches!(&full, Answer::Error(text) if text.starts_with("OOM")), "{full:?}");
    assert!(added > 10_000, "{added}");
    assert_eq!(client.ask("SISMEMBER s 7"), Answer::Integer(1));
    client.ask("DEL s");
    assert_eq!(client.ask("SADD s 7"), Answer::Integer(1));
    // A command with too many strings, or too long, ends the connection.
    let many: Vec<&[u8]> = [&b"SADD"[..]; 101].to_vec();
    for bytes in [command(&many), command(&[b"SADD", b"s", &[b'x'; 1_001]]), command(&[&[b'x'; 999][..]; 11])] {
        let mut client = served.client();
        client.send(&bytes);
        assert!(matches!(client.answer(), Answer::Error(text) if text.contains("at most")));
        assert!(client.try_answer().is_err());
    }
    // So does half a command; a client that is silent between commands stays.
    let mut slow = served.client();
    slow.send(b"*2\r\n$4\r\nECHO");
    let began = Instant::now();
    assert!(slow.try_answer().is_err());
    assert!((Duration::from_millis(150)..Duration::from_secs(20)).contains(&began.elapsed()));
    assert_eq!(client.ask("PING"), Answer::Simple("PONG".to_owned()));
}

#[test]
fn tls_with_the_certificate_of_the_server() {
    use std::io::{Read, Write};

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};

    let directory = tempfile::tempdir().unwrap();
    let tls = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    let of_server = certificate(&tls.join("wildcard.pem"), &tls.join("wildcard-key.pem")).unwrap();
    let access = Access { token: None, certificate: Some(of_server) };
    let served = Filtering::with(directory.path(), FilterLimits::default(), RespLimits::default(), access);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(tls.join("wildcard-authority.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let name = ServerName::try_from("www.site.test").unwrap();
    let connection = rustls::ClientConnection::new(config, name).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, std::net::TcpStream::connect(served.address).unwrap());
    stream.write_all(&command(&[b"SADD", b"s", b"a"])).unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b":1\r\n");
}

#[test]
fn what_was_answered_survives_and_snapshots_replace_logs() {
    let directory = tempfile::tempdir().unwrap();
    let mut limits = FilterLimits::default();
    (limits.log_bytes, limits.sync) = (1 << 10, Duration::from_millis(5));
    let open = || Filtering::with(directory.path(), limits.clone(), RespLimits::default(), Access::default());
    let files = || {
        let mut names: Vec<String> = std::fs::read_dir(directory.path().join("0"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    };
    let mut added = 0;
    for round in 0..6 {
        let served = open();
        let mut client = served.client();
        if round > 0 {
            assert_eq!(client.ask("SCARD urls"), Answer::Integer(added));
            assert_eq!(client.ask("BF.CARD bloom"), Answer::Integer(1));
            assert_eq!(client.ask("BF.INFO bloom CAPACITY"), integers([500]));
        } else {
            client.ask("SADD urls -");
            added += 1;
            client.ask("BF.RESERVE bloom 0.01 500");
            client.ask("BF.ADD bloom a");
        }
        for number in 0..2_000 {
            // All of the earlier rounds are there.
            let back = format!("SISMEMBER urls {}-{number}", (round + 5) % 6);
            assert_eq!(client.ask(&back), Answer::Integer(i64::from(round > 0)), "{back}");
            assert_eq!(client.ask(&format!("SADD urls {round}-{number}")), Answer::Integer(1));
            added += 1;
        }
        if round % 2 == 0 {
            served.kill();
        } else {
            drop(served);
            // In good order: all is in one snapshot.
            let names = files();
            assert!(names.len() == 2 && names[0] == "filter.json" && names[1].starts_with("seen-"), "{names:?}");
        }
    }
    // A log that has lost its end has lost what was not answered; one that is damaged before its end is refused.
    let served = open();
    for number in 0..5 {
        served.client().ask(&format!("SADD urls last-{number}"));
    }
    served.kill();
    let log = files().into_iter().rfind(|name| name.starts_with("log-")).unwrap();
    let log = directory.path().join("0").join(log);
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, &whole[..whole.len() - 3]).unwrap();
    let served = open();
    assert_eq!(served.client().ask("SCARD urls"), Answer::Integer(added + 4));
    served.kill();
    let mut damaged = whole;
    damaged[20] ^= 1;
    std::fs::write(&log, damaged).unwrap();
    let refused = Filters::open(directory.path(), limits.clone()).unwrap_err().to_string();
    assert!(refused.contains("damaged at byte 12") && refused.contains(log.to_str().unwrap()), "{refused}");
}

#[test]
fn a_deleted_filter_is_gone_for_good() {
    let directory = tempfile::tempdir().unwrap();
    let served = Filtering::at(directory.path());
    let (mut client, mut other) = (served.client(), served.client());
    other.ask("SADD urls a");
    assert_eq!(client.ask("DEL urls"), Answer::Integer(1));
    assert_eq!(other.ask("SISMEMBER urls a"), Answer::Integer(0));
    assert_eq!(other.ask("BF.ADD urls b"), Answer::Integer(1), "it may be of another kind now");
    assert_eq!(client.ask("DEL urls"), Answer::Integer(1));
    served.kill();
    let served = Filtering::at(directory.path());
    assert_eq!(served.client().ask("EXISTS urls"), Answer::Integer(0));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn each_member_is_new_to_one_client_only() {
    let directory = tempfile::tempdir().unwrap();
    let served = Filtering::at(directory.path());
    let new: i64 = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = served.client();
                    let lines = (0..20_000).map(|number| command(&[b"SADD", b"urls", format!("{number}").as_bytes()]));
                    let bytes: Vec<u8> = lines.flatten().collect();
                    let mut sent = bytes.chunks(100_000);
                    // Answers are taken meanwhile, so that nobody waits for ever.
                    let mut new = 0;
                    let mut left = 20_000;
                    while left > 0 {
                        if let Some(bytes) = sent.next() {
                            client.send(bytes);
                        }
                        for _ in 0..2_000.min(left) {
                            let Answer::Integer(is_new) = client.answer() else { panic!() };
                            new += is_new;
                            left -= 1;
                        }
                    }
                    new
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert_eq!(new, 20_000);
    assert_eq!(served.client().ask("SCARD urls"), Answer::Integer(20_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Commands of all kinds, sent at once, answer as sets would, whatever is deleted between them and however often the server is killed.
    #[test]
    fn commands_answer_as_sets_do(acts in prop::collection::vec((0..10_u8, 0..3_u8, prop::collection::vec(0..40_u8, 1..6)), 1..60)) {
        let directory = tempfile::tempdir().unwrap();
        let mut served = Filtering::at(directory.path());
        let mut model: [HashSet<u8>; 3] = Default::default();
        let (mut sent, mut expected) = (Vec::new(), Vec::new());
        let talk = |served: &Filtering, sent: &mut Vec<u8>, expected: &mut Vec<Answer>| {
            let mut client = served.client();
            client.send(sent);
            for expected in expected.drain(..) {
                assert_eq!(client.answer(), expected);
            }
            sent.clear();
        };
        for (act, set, members) in acts {
            let (name, of) = (format!("s{set}"), &mut model[usize::from(set)]);
            let texts: Vec<String> = members.iter().map(|member| format!("http://a.example/{member}")).collect();
            let with = |word: &str, texts: &[String]| {
                let strings = [word, &name].into_iter().chain(texts.iter().map(String::as_str)).map(str::as_bytes);
                command(&strings.collect::<Vec<_>>())
            };
            match act {
                0..4 => {
                    sent.extend(with("SADD", &texts));
                    expected.push(count(members.iter().filter(|member| of.insert(**member)).count()));
                }
                4..6 => {
                    sent.extend(with("SMISMEMBER", &texts));
                    let each = members.iter().map(|member| Answer::Integer(i64::from(of.contains(member))));
                    expected.push(Answer::Array(each.collect()));
                }
                6 => {
                    sent.extend(with("SISMEMBER", &texts[..1]));
                    expected.push(Answer::Integer(i64::from(of.contains(&members[0]))));
                }
                7 => {
                    sent.extend(with("SCARD", &[]));
                    expected.push(count(of.len()));
                }
                8 => {
                    sent.extend(with("DEL", &[]));
                    expected.push(Answer::Integer(i64::from(!of.is_empty())));
                    of.clear();
                }
                _ => {
                    talk(&served, &mut sent, &mut expected);
                    served.kill();
                    served = Filtering::at(directory.path());
                }
            }
        }
        talk(&served, &mut sent, &mut expected);
        served.kill();
    }
}
