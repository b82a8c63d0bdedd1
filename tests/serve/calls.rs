//! Each call of the server, over a socket.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;
use crate::served::{Served, crawl};

/// The tokens and URLs of an answer to `lease`.
fn leased(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    answer["leases"].as_array().unwrap().iter().map(|lease| (text(&lease["token"]), text(&lease["url"]))).collect()
}

#[test]
fn a_crawl_from_its_first_url_to_its_end() {
    let (_directory, _served, mut client) = crawl("1ms");
    let urls = "\"http://a.example/\"\n{\"url\":\"http://b.example/\",\"payload\":{\"n\":1},\"priority\":7}\n\n\
                \"http://A.example\"\n\"mailto:a@a.example\"\n{\"uri\":1}\n";
    let answered = client.post("/v1/crawls/c/urls", urls);
    assert_eq!(answered.each("verdict"), ["new", "new", "seen", "refused", "error"]);
    assert_eq!(answered.lines()[3]["reason"], "unsupported_scheme");
    assert!(answered.head.contains("application/x-ndjson"));

    let mut visited = Vec::new();
    loop {
        let answer = client.post("/v1/crawls/c/lease?n=10&wait=300ms", "").json();
        if answer["state"] == "drained" {
            break;
        }
        for (token, url) in leased(&answer) {
            let links =
                if url == "http://a.example/" { json!(["/x", {"url": "/y", "payload": [2]}, "/"]) } else { json!([]) };
            let done = json!({ "token": token, "status": 200, "links": links }).to_string();
            assert_eq!(client.post("/v1/crawls/c/done", &done).each("result"), ["done"]);
            // A retry of it is answered as before, and its links are queued once.
            assert_eq!(client.post("/v1/crawls/c/done", &done).each("result"), ["done"]);
            visited.push(url);
        }
    }
    visited.sort();
    let expected = ["http://a.example/", "http://a.example/x", "http://a.example/y", "http://b.example/"];
    assert_eq!(visited, expected);
    let statistics = client.get("/v1/crawls/c/statistics");
    assert_eq!(
        (&statistics["completed"], &statistics["queued"], &statistics["drained"]),
        (&json!(4), &json!(0), &json!(true))
    );
    assert_eq!(statistics["refused"]["seen"], 2);
}

#[test]
fn a_lease_has_all_that_its_finder_said() {
    let (_directory, _served, mut client) = crawl("1s");
    let said = json!({ "url": "http://a.example/api", "identity": "q=1", "queue": "an account", "priority": -5, "depth": 3,
        "payload": { "method": "POST", "body": "\u{e4}\"\n" } });
    assert_eq!(client.post("/v1/crawls/c/urls", &said.to_string()).each("verdict"), ["new"]);
    let answer = client.post("/v1/crawls/c/lease", "").json();
    let lease = &answer["leases"][0];
    for field in ["url", "identity", "queue", "priority", "depth", "payload"] {
        assert_eq!(lease[field], said[field], "{field}");
    }
    assert_eq!((&lease["kind"], &lease["attempt"]), (&json!("page"), &json!(1)));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let left = u128::from(lease["deadline"].as_u64().unwrap()) - now;
    assert!((110_000..=120_000).contains(&left), "{left} ms of two minutes");
}

#[test]
fn robots_txt_is_lent_like_any_url_unless_workers_mind_it() {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::at(directory.path());
    let mut client = served.client();
    assert_eq!(client.ask("PUT", "/v1/crawls/polite", r#"{"politeness":{"host_delay":"1ms"}}"#).status, 201);
    client.post("/v1/crawls/polite/urls", "\"http://a.example/private\"\n\"http://a.example/public\"");
    let answer = client.post("/v1/crawls/polite/lease?n=9", "").json();
    let robots = &answer["leases"][0];
    assert_eq!((&robots["kind"], &robots["url"]), (&json!("robots"), &json!("http://a.example/robots.txt")));
    let rules = json!({ "token": robots["token"], "status": 200, "body": "User-agent: *\nDisallow: /private\n" });
    assert_eq!(client.post("/v1/crawls/polite/done", &rules.to_string()).each("result"), ["done"]);
    let answer = client.post("/v1/crawls/polite/lease?n=9&wait=10s", "").json();
    assert_eq!(leased(&answer)[0].1, "http://a.example/public");
    let explained = client.get("/v1/crawls/polite/explain?url=http%3A%2F%2Fa.example%2Fprivate");
    assert!(explained["explanation"].as_str().unwrap().contains("Disallow: /private"), "{explained}");
}

#[test]
fn a_call_waits_until_a_host_is_due_or_a_url_comes() {
    let (_directory, served, mut client) = crawl("300ms");
    // At once, with nothing to say.
    let answer = client.post("/v1/crawls/c/lease", "").json();
    assert_eq!(answer, json!({ "leases": [], "state": "drained", "retry_at": null }));
    let mut other = served.client();
    let waits = thread::spawn(move || {
        let answer = other.post("/v1/crawls/c/lease?wait=30s", "").json();
        (other, answer)
    });
    while client.get("/v1/crawls/c/statistics")["waiting_calls"] != 1 {
        thread::yield_now();
    }
    client.post("/v1/crawls/c/urls", "\"http://a.example/1\"\n\"http://a.example/2\"");
    let (mut other, answer) = waits.join().unwrap();
    let (token, url) = &leased(&answer)[0];
    assert_eq!(url, "http://a.example/1");
    // The host is busy, and then rests: the answer says until when.
    assert_eq!(client.post("/v1/crawls/c/lease", "").json()["leases"], json!([]));
    other.post("/v1/crawls/c/done", &json!({ "token": token, "status": 200 }).to_string()).lines();
    let began = Instant::now();
    let answer = client.post("/v1/crawls/c/lease", "").json();
    assert_eq!((&answer["leases"], &answer["state"]), (&json!([]), &json!("waiting")));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let rest = u128::from(answer["retry_at"].as_u64().unwrap()).saturating_sub(now);
    assert!(rest <= 302, "{rest} ms");
    let answer = client.post("/v1/crawls/c/lease?wait=10s", "").json();
    assert_eq!(leased(&answer)[0].1, "http://a.example/2");
    assert!(began.elapsed() < Duration::from_secs(5));
    // Whose time is over gets an answer without a lease.
    let answer = client.post("/v1/crawls/c/lease?wait=50ms", "").json();
    assert_eq!(answer["leases"], json!([]));
}

#[test]
fn leases_end_are_extended_and_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::at(directory.path());
    let mut client = served.client();
    let settings = r#"{"politeness":{"host_delay":"1ms","robots":false},"serve":{"lease_timeout":"100ms"}}"#;
    client.ask("PUT", "/v1/crawls/c", settings);
    client.post("/v1/crawls/c/urls", "\"http://a.example/\"");
    let first = leased(&client.post("/v1/crawls/c/lease", "").json()).remove(0).0;
    // Nobody extends it, so another worker gets the URL, and the first one is late.
    let second = leased(&client.post("/v1/crawls/c/lease?wait=10s", "").json()).remove(0).0;
    let done = json!({ "token": first, "status": 200 }).to_string();
    assert_eq!(client.post("/v1/crawls/c/done", &done).each("result"), ["late"]);
    let lines = format!("\"{second}\"\n{{\"token\":\"{first}\"}}\n\"?\"\n");
    assert_eq!(client.post("/v1/crawls/c/extend", &lines).each("result"), ["extended", "late", "error"]);
    // Given back, it goes out again at once; doing so twice is as once.
    for _ in 0..2 {
        assert_eq!(client.post("/v1/crawls/c/give_back", &format!("\"{second}\"")).each("result"), ["given_back"]);
    }
    let third = leased(&client.post("/v1/crawls/c/lease?wait=10s", "").json()).remove(0).0;
    assert_ne!(second, third);
    let failed = json!({ "token": third, "failure": "timeout", "message": "no head in 30 s" }).to_string();
    let answered = client.post("/v1/crawls/c/done", &failed).lines().remove(0);
    assert_eq!(answered["result"], "retry");
    assert!(answered["retry_at"].is_u64());
    let statistics = client.get("/v1/crawls/c/statistics");
    assert_eq!((&statistics["expired"], &statistics["completed"]), (&json!(1), &json!(0)));
}

#[test]
fn a_client_that_has_gone_gives_its_leases_back() {
    let (_directory, served, mut client) = crawl("1ms");
    let mut gone = served.client();
    gone.send("POST", "/v1/crawls/c/lease?wait=60s", "").unwrap();
    while client.get("/v1/crawls/c/statistics")["waiting_calls"] != 1 {
        thread::yield_now();
    }
    drop(gone);
    while client.get("/v1/crawls/c/statistics")["waiting_calls"] != 0 {
        thread::yield_now();
    }
    client.post("/v1/crawls/c/urls", "\"http://a.example/\"");
    assert_eq!(leased(&client.post("/v1/crawls/c/lease?wait=5s", "").json()).len(), 1);
}

#[test]
fn crawls_are_made_changed_paused_and_deleted() {
    let (directory, served, mut client) = crawl("1ms");
    let settings = r#"{"politeness":{"host_delay":"1ms","robots":false}}"#;
    assert_eq!(client.ask("PUT", "/v1/crawls/c", settings).json()["result"], "unchanged");
    client.post("/v1/crawls/c/urls", "\"http://a.example/\"");
    let other = r#"{"politeness":{"host_delay":"2ms","robots":false}}"#;
    assert_eq!(client.ask("PUT", "/v1/crawls/c", other).json()["result"], "changed");
    let wrong = client.ask("PUT", "/v1/crawls/c", r#"{"serve":{"lease_timeout":"soon"}}"#);
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.contains("serve.lease_timeout"), "{wrong:?}");
    assert_eq!(client.get("/v1/crawls/c")["settings"]["politeness"]["host_delay"], "2ms");
    assert_eq!(client.post("/v1/crawls/c/pause", "").json(), json!({ "paused": true }));
    assert_eq!(client.post("/v1/crawls/c/lease", "").json()["state"], "paused");
    drop((client, served));

    // The next server has it as it was.
    let served = Served::at(directory.path());
    let mut client = served.client();
    assert_eq!(client.get("/v1/crawls")["crawls"][0]["paused"], true);
    assert_eq!(client.post("/v1/crawls/c/resume", "").json(), json!({ "paused": false }));
    let (token, url) = leased(&client.post("/v1/crawls/c/lease", "").json()).remove(0);
    assert_eq!(url, "http://a.example/");
    assert!(directory.path().join("c/manifest").exists());
    assert_eq!(client.ask("DELETE", "/v1/crawls/c", "").status, 200);
    assert_eq!(client.post("/v1/crawls/c/done", &json!({ "token": token, "status": 200 }).to_string()).status, 404);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "the server's lock");
    assert_eq!(client.ask("PUT", "/v1/crawls/c", settings).json()["result"], "created");
    assert_eq!(client.get("/v1/crawls/c/statistics")["found"], 0);
}

#[test]
fn a_job_that_was_there_is_taken_up_or_left_alone() {
    let (directory, served, mut client) = crawl("1ms");
    client.post("/v1/crawls/c/urls", "\"http://a.example/\"");
    drop((client, served));
    let settings = directory.path().join("c.json");
    std::fs::remove_file(&settings).unwrap();
    let manifest = directory.path().join("c/manifest");
    let kept = std::fs::read(&manifest).unwrap();
    std::fs::write(&manifest, "of another program").unwrap();

    let served = Served::at(directory.path());
    let mut client = served.client();
    assert_eq!(client.ask("PUT", "/v1/crawls/c", "").status, 409);
    assert!(manifest.exists() && !settings.exists());
    std::fs::write(&manifest, kept).unwrap();
    assert_eq!(client.ask("PUT", "/v1/crawls/c", "").status, 201);
    assert_eq!(client.post("/v1/crawls/c/urls", "\"http://a.example/\"").each("verdict"), ["seen"]);
}

/// What waits, what is lent, what is done and what was never found; with an identity and in a queue, too.
#[test]
fn explanations_know_what_became_of_a_url() {
    let (_directory, _served, mut client) = crawl("1h");
    let request = json!({ "url": "http://a.example/", "identity": "i", "queue": "q" });
    client.post(
        "/v1/crawls/c/urls",
        &format!("{request}\n\"http://a.example/1\"\n\"http://a.example/2\"\n\"http://a.example/3\""),
    );
    let verdict = |client: &mut Client, url: &str| {
        client.get(&format!("/v1/crawls/c/explain?url={url}"))["verdict"].as_str().unwrap().to_owned()
    };
    let explained = client.get("/v1/crawls/c/explain?url=http://a.example/2");
    assert_eq!(explained["verdict"], "waiting");
    assert!(explained["reason"].as_str().unwrap().contains('1'), "{explained}");
    assert_eq!(verdict(&mut client, "http://a.example/none"), "not_found");
    assert_eq!(verdict(&mut client, "http://a.example/&identity=i&queue=q"), "waiting");
    assert_eq!(verdict(&mut client, "http://a.example/&identity=j"), "not_found");
    let leased = client.post("/v1/crawls/c/lease?n=100", "").json();
    let first = leased["leases"].as_array().unwrap().iter().find(|lease| lease["url"] == "http://a.example/1").unwrap();
    client.post("/v1/crawls/c/done", &json!({ "token": first["token"], "status": 200 }).to_string());
    // A worker has its page; the server has no record of it.
    assert_eq!(verdict(&mut client, "http://a.example/1"), "no_record");
    assert_eq!(verdict(&mut client, "http://a.example/3"), "waiting");
}

#[test]
fn the_page_shows_all_crawls() {
    let (_directory, _served, mut client) = crawl("1s");
    client.ask("PUT", "/v1/crawls/paused-one", "");
    client.post("/v1/crawls/paused-one/pause", "");
    client.post("/v1/crawls/c/urls", "\"http://a.example/1\"\n\"http://a.example/2\"");
    let page = client.ask("GET", "/", "");
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{page:?}");
    assert!(page.body.contains("<td>c</td><td>lending</td><td>2</td><td>0</td><td>0</td><td>1</td>"), "{page:?}");
    assert!(page.body.contains("<td>paused-one</td><td>paused</td>"), "{page:?}");
    assert_eq!(client.ask("POST", "/", "").status, 405);
}

#[test]
fn questions_and_drops() {
    let (_directory, _served, mut client) = crawl("1s");
    let urls: Vec<String> = (0..5).map(|n| format!("\"http://a.example/{n}\"\n\"http://b{n}.example/\"\n")).collect();
    client.post("/v1/crawls/c/urls", &urls.concat());
    let queues = client.get("/v1/crawls/c/queues?n=2");
    assert_eq!((&queues["all"], queues["queues"].as_array().unwrap().len()), (&json!(6), 2));
    assert_eq!(
        (&queues["queues"][0]["queue"], &queues["queues"][0]["waiting"]),
        (&json!("http://a.example"), &json!(5))
    );
    assert_eq!(client.get("/v1/crawls/c/queues?find=b3")["all"], 1);
    assert_eq!(
        client.post("/v1/crawls/c/drop", r#"{"host":"a.example"}"#).json(),
        json!({ "dropped": ["host a.example"] })
    );
    assert_eq!(client.post("/v1/crawls/c/urls", "\"http://a.example/9\"").lines()[0]["reason"], "dropped");
    let answer = client.post("/v1/crawls/c/lease?n=100", "").json();
    assert!(leased(&answer).iter().all(|(_, url)| url.starts_with("http://b")), "{answer}");
    assert_eq!(
        client.post("/v1/crawls/c/drop", r#"{"host":"a.example","undo":true}"#).json(),
        json!({ "dropped": [] })
    );
    assert_eq!(leased(&client.post("/v1/crawls/c/lease?n=100&wait=5s", "").json()).len(), 1);
    let metrics = client.ask("GET", "/metrics", "");
    for line in ["crawler_serve_urls_total{crawl=\"c\"} 11", "crawler_serve_leased_urls{crawl=\"c\"} 6", "# EOF"] {
        assert!(metrics.body.lines().any(|of| of == line), "{line} in {}", metrics.body);
    }
}

#[test]
fn wrong_requests_say_what_is_wrong() {
    let (_directory, _served, mut client) = crawl("1s");
    for (method, path, body, status, word) in [
        ("GET", "/nothing", "", 404, "/openapi.json"),
        ("GET", "/v1/crawls/none/statistics", "", 404, "PUT it first"),
        ("PUT", "/v1/crawls/.x", "", 400, "letters"),
        ("PUT", "/v1/crawls/x", "{", 400, "no JSON"),
        ("PUT", "/v1/crawls/x", "{\"politness\":{}}", 400, "politness"),
        ("GET", "/v1/crawls/c/lease", "", 405, "POST"),
        ("POST", "/v1/crawls/c/lease?n=0", "", 400, "n=0"),
        ("POST", "/v1/crawls/c/lease?wait=soon", "", 400, "wait=soon"),
        ("POST", "/v1/crawls/c/nothing", "", 404, "no such path"),
        ("GET", "/v1/crawls/c/explain", "", 400, "?url=URL"),
        ("GET", "/v1/crawls/c/explain?url=x", "", 400, "no http"),
        ("POST", "/v1/crawls/c/drop", "{}", 400, "one of"),
        ("POST", "/v1/crawls/c/drop", r#"{"urls":"("}"#, 400, "("),
    ] {
        let answered = client.ask(method, path, body);
        assert_eq!(answered.status, status, "{method} {path}: {answered:?}");
        assert_eq!(answered.json()["status"], status);
        assert!(answered.json()["detail"].as_str().unwrap().contains(word), "{method} {path}: {answered:?}");
    }
    assert_eq!(client.ask("GET", "/healthz", "").body, "ok\n");
}
