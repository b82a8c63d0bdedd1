//! `crawler identity verify` against a directory that is there, on loopback: as it should be, and wrong in each way that a site's can be.

use std::fs;
use std::io::{BufReader, Write};
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crawler::crawl::{Jwk, JwkSet};
use rustls::{ServerConnection, StreamOwned};

use crate::Keys;
use crate::server::{self, AUTHORITY, read_head};
use crate::visitors::nobody;

const TYPE: &str = "application/http-message-signatures-directory+json";

/// A site that answers each request with these bytes, and ends.
fn site(answer: String) -> SocketAddr {
    let config = server::tls();
    server::serve(move |stream, _| {
        let tls = ServerConnection::new(config.clone()).unwrap();
        let mut lines = BufReader::new(StreamOwned::new(tls, stream));
        let Ok(head) = read_head(&mut lines) else { return };
        assert!(head.starts_with("GET /.well-known/http-message-signatures-directory HTTP/1.1\r\n"), "{head}");
        assert!(!head.to_ascii_lowercase().contains("signature-"), "a directory is for everybody: {head}");
        let _ = lines.get_mut().write_all(answer.as_bytes()).and_then(|()| lines.get_mut().flush());
        lines.get_mut().conn.send_close_notify();
        let _ = lines.get_mut().flush();
    })
}

fn answer(status: &str, kind: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// The code, and all that was printed.
fn verify(keys: &Keys, at: SocketAddr, trusts: bool) -> (Option<i32>, String) {
    let files = if trusts { format!("[{AUTHORITY:?}]") } else { "[]".to_owned() };
    let settings = format!("[fetch]\nca_files = {files}\nallow_private_addresses = true\n");
    fs::write(keys.directory.path().join("crawler.toml"), settings).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["identity", "verify", "identity.json", "--agent", &format!("https://{at}")])
        .current_dir(keys.directory.path())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn a_directory_is_verified_where_it_is() {
    let mut keys = Keys::new();
    keys.rotate();
    let now = SystemTime::now();
    let hour = Duration::from_secs(3600);
    let own = JwkSet { keys: keys.keys.clone() }.directory(now);
    let [new, old] = [0, 1].map(|at| own.keys[at].thumbprint());
    let good = own.to_json();
    let until = |at: SystemTime| {
        let mut set = own.clone();
        set.keys[1].publish_until(at);
        set.to_json()
    };
    let from = |at: SystemTime| {
        let at = at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let mut set = serde_json::to_value(&own).unwrap();
        set["keys"][0]["nbf"] = at.into();
        set.to_string()
    };
    let one = JwkSet { keys: own.keys[..1].to_vec() }.to_json();
    let private = JwkSet { keys: keys.keys.clone() }.to_json();
    let cut = |body: &str| answer("200 OK", TYPE, body).replace(&body[body.len() / 2..], "");
    let long = format!("{}{good}", " ".repeat(64 << 10));
    let chunk = format!("{:x}\r\n{}\r\n", good.len() / 2, &good[..good.len() / 2]);
    let remedy = "put there what crawler identity directory prints";
    for (name, answer, code, words) in [
        ("good", answer("200 OK", TYPE, &good), 0, "has each of the 2 published keys".to_owned()),
        ("of a type with a parameter", answer("200 OK", &format!("{TYPE}; charset=utf-8"), &good), 0, String::new()),
        ("of another type", answer("200 OK", "application/json", &good), 1, "its Content-Type is".to_owned()),
        ("without a type", answer("200 OK", "", &good), 1, format!("it must be {TYPE}")),
        ("without a key", answer("200 OK", TYPE, &one), 1, format!("it lacks the key {old}: {remedy}")),
        ("expired", answer("200 OK", TYPE, &until(now - hour)), 1, format!("the key {old} has expired there, at ")),
        ("not valid yet", answer("200 OK", TYPE, &from(now + hour)), 1, format!("the key {new} signs already, and")),
        (
            "of other dates",
            answer("200 OK", TYPE, &until(now + 9 * hour)),
            1,
            format!("the key {old} has other dates there: {remedy}"),
        ),
        (
            "elsewhere",
            "HTTP/1.1 301 Moved\r\nLocation: /keys.json\r\nContent-Length: 0\r\n\r\n".to_owned(),
            1,
            "it answers 301, and sites take only a 200, without redirects".to_owned(),
        ),
        ("missing", answer("404 Not Found", "text/html", &good), 1, "it answers 404".to_owned()),
        ("not well", answer("503 Busy", TYPE, &good), 1, "it answers 503".to_owned()),
        ("cut", cut(&good), 1, "its answer breaks off: ".to_owned()),
        (
            "cut in its chunks",
            format!("HTTP/1.1 200 OK\r\nContent-Type: {TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}"),
            1,
            "its answer breaks off: ".to_owned(),
        ),
        ("too large", answer("200 OK", TYPE, &long), 1, "it is longer than 65536 bytes".to_owned()),
        ("no JSON", answer("200 OK", TYPE, "<html>"), 1, format!("it is no JSON with a list of keys: {remedy}")),
        ("no list", answer("200 OK", TYPE, "{\"key\":[]}"), 1, "it is no JSON with a list of keys".to_owned()),
        ("private", answer("200 OK", TYPE, &private), 1, format!("it has the PRIVATE half of {new}: take it off")),
        (
            "of another label",
            answer("200 OK", TYPE, &good.replace(&format!("\"kid\": \"{new}\""), "\"kid\": \"new\"")),
            1,
            format!("the kid of {new} is \"new\"; it must be the thumbprint"),
        ),
        ("not HTTP", "hello\r\n\r\n".to_owned(), 1, "cannot fetch https://127.0.0.1:".to_owned()),
    ] {
        let (is, said) = verify(&keys, site(answer), true);
        assert_eq!((is, said.contains(&words)), (Some(code), true), "{name}: {said}");
        // One thing is wrong, and one is said; of two private keys, each.
        let faults = said.matches("/http-message-signatures-directory: ").count();
        assert_eq!(faults, if name == "private" { 2 } else { usize::from(code == 1) }, "{name}: {said}");
        assert!(keys.keys.iter().all(|key| !said.contains(&private_half(key))), "{name}");
    }
    for (at, trusts) in [(nobody(), true), (site(answer("200 OK", TYPE, &good)), false)] {
        let (is, said) = verify(&keys, at, trusts);
        assert!(is == Some(1) && said.contains("cannot fetch"), "{said}");
    }
}

fn private_half(key: &Jwk) -> String {
    serde_json::to_value(key).unwrap()["d"].as_str().unwrap().to_owned()
}

#[test]
fn a_file_whose_keys_have_all_expired_is_said_to_be_so() {
    let mut keys = Keys::new();
    let good = JwkSet { keys: keys.keys.clone() }.directory(SystemTime::now()).to_json();
    let at = site(answer("200 OK", TYPE, &good));
    assert_eq!(verify(&keys, at, true).0, Some(0));
    keys.keys[0].publish_until(SystemTime::now() - Duration::from_secs(1));
    keys.write();
    let (code, said) = verify(&keys, at, true);
    assert!(
        code == Some(2) && said.contains("none of its keys signs now: crawler identity new FILE adds one"),
        "{said}"
    );
}
