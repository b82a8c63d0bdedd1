//! The file `docs/openapi.json` beside what the server does: the same paths, and in real answers the same fields.

use std::collections::BTreeSet;

use crawler::serve::http::ROUTES;
use serde_json::{Value, json};

use crate::client::Client;
use crate::served::crawl;

struct Description {
    file: Value,
    /// The fields that answers had, as `Schema.field`.
    seen: BTreeSet<String>,
}

impl Description {
    fn read() -> Self {
        Self { file: serde_json::from_str(include_str!("../../docs/openapi.json")).unwrap(), seen: BTreeSet::new() }
    }

    fn schema(&self, name: &str) -> &Value {
        &self.file["components"]["schemas"][name]
    }

    /// Asks, and compares the answer with its schema.
    fn ask(&mut self, client: &mut Client, method: &str, path: &str, body: &str) -> Vec<Value> {
        let answered = client.ask(method, path, body);
        let named = path.split('?').next().unwrap().replace("/crawls/c", "/crawls/{name}");
        let responses = &self.file["paths"][&named][method.to_ascii_lowercase()]["responses"];
        let status = answered.status.to_string();
        let response = responses.get(&status).unwrap_or(&responses["default"]);
        let content_type = answered.head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap();
        let content_type = content_type.split(';').next().unwrap();
        let schema = response["content"][content_type]["schema"].clone();
        assert!(schema.is_object(), "{method} {named} {status} {content_type}");
        let values: Vec<Value> = if content_type == "application/x-ndjson" {
            answered.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        } else {
            vec![if content_type.ends_with("json") { answered.json() } else { answered.body.into() }]
        };
        for value in &values {
            self.compare(&schema, value, "");
        }
        values
    }

    fn compare(&mut self, schema: &Value, value: &Value, at: &str) {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.rsplit('/').next().unwrap();
            return self.compare(&self.schema(name).clone(), value, name);
        }
        let types = match &schema["type"] {
            Value::String(name) => vec![name.as_str()],
            Value::Array(names) => names.iter().map(|name| name.as_str().unwrap()).collect(),
            _ => return,
        };
        let is_of = |name: &&str| match *name {
            "array" => value.is_array(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "null" => value.is_null(),
            "number" => value.is_number(),
            "object" => value.is_object(),
            _ => value.is_string(),
        };
        assert!(types.iter().any(is_of), "{at}: {value} is none of {types:?}");
        if let Some(words) = schema["enum"].as_array() {
            assert!(words.contains(value), "{at}: {value}");
        }
        for item in value.as_array().into_iter().flatten() {
            self.compare(&schema["items"], item, at);
        }
        let Some(fields) = value.as_object() else { return };
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(fields.contains_key(name.as_str().unwrap()), "{at} lacks {name}: {value}");
        }
        for (name, value) in fields {
            match schema["properties"].get(name) {
                Some(field) => {
                    self.seen.insert(format!("{at}.{name}"));
                    self.compare(&field.clone(), value, &format!("{at}.{name}"));
                }
                None => assert!(schema["additionalProperties"] != false, "{at}.{name} is not described: {value}"),
            }
        }
    }
}

#[test]
fn the_paths_are_those_of_the_server() {
    let description = Description::read();
    let mut described = BTreeSet::new();
    for (path, methods) in description.file["paths"].as_object().unwrap() {
        let methods = methods.as_object().unwrap().keys().filter(|name| *name != "parameters");
        described.extend(methods.map(|method| (method.to_ascii_uppercase(), path.clone())));
    }
    let served = ROUTES.map(|(method, path)| (method.to_owned(), path.to_owned()));
    assert_eq!(described, BTreeSet::from(served));
}

#[test]
fn answers_have_the_fields_that_are_described_and_no_others() {
    let (_directory, _served, mut client) = crawl("1ms");
    let mut description = Description::read();
    let mut ask = |method, path: &str, body: &str| description.ask(&mut client, method, path, body);
    ask("PUT", "/v1/crawls/c", r#"{"politeness":{"host_delay":"1ms"},"serve":{"lease_timeout":"1m"}}"#);
    let all = json!({ "url": "http://a.example/", "identity": "i", "queue": "q", "priority": 1, "payload": 1 });
    ask("POST", "/v1/crawls/c/urls", &format!("{all}\n{all}\n\"ftp://a.example/\"\n?\n"));
    ask("POST", "/v1/crawls/c/drop", r#"{"host":"never.example"}"#);
    // Its robots.txt, twice, the second time by its validators; then the page, and a link of it.
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let answer = ask("POST", "/v1/crawls/c/lease?n=1&wait=10s", "").remove(0);
        let lease = &answer["leases"][0];
        let token = lease["token"].as_str().unwrap().to_owned();
        let done = if lease["kind"] == "robots" {
            json!({ "token": token, "status": 200, "body": "", "etag": "\"1\"", "last_modified": "then" })
        } else {
            json!({ "token": token, "status": 200, "links": ["/b"] })
        };
        ask("POST", "/v1/crawls/c/extend", &format!("\"{token}\""));
        ask("POST", "/v1/crawls/c/done", &done.to_string());
        tokens.push(token);
    }
    ask("POST", "/v1/crawls/c/urls", "\"http://b.example/\"");
    let answer = ask("POST", "/v1/crawls/c/lease?n=9&wait=10s", "").remove(0);
    for lease in answer["leases"].as_array().unwrap() {
        ask("POST", "/v1/crawls/c/give_back", &format!("{}\n\"x\"", lease["token"]));
    }
    let answer = ask("POST", "/v1/crawls/c/lease?n=9&wait=10s", "").remove(0);
    let failed = json!({ "token": answer["leases"][0]["token"], "failure": "timeout" });
    ask("POST", "/v1/crawls/c/done", &failed.to_string());
    for path in ["", "/statistics", "/queues", "/explain?url=http://a.example/", "/explain"] {
        ask("GET", &format!("/v1/crawls/c{path}"), "");
    }
    for path in ["/", "/healthz", "/metrics", "/openapi.json", "/v1/crawls"] {
        ask("GET", path, "");
    }
    for path in ["pause", "resume"] {
        ask("POST", &format!("/v1/crawls/c/{path}"), "");
    }
    ask("DELETE", "/v1/crawls/c", "");
    let answers = [
        "UrlVerdict",
        "Leases",
        "Lease",
        "End",
        "Crawl",
        "Crawls",
        "Opened",
        "Paused",
        "Dropped",
        "Explanation",
        "Statistics",
        "Queue",
        "Queues",
        "Problem",
    ];
    let of = |name: &str| {
        let fields = description.schema(name)["properties"].as_object().unwrap().keys();
        fields.map(|field| format!("{name}.{field}")).collect::<Vec<_>>()
    };
    // A robots.txt is asked for again after a day.
    let never = ["Lease.etag", "Lease.last_modified"];
    let missing: Vec<String> = answers
        .iter()
        .flat_map(|name| of(name))
        .filter(|field| !description.seen.contains(field) && !never.contains(&field.as_str()))
        .collect();
    assert!(missing.is_empty(), "no answer had these: {missing:?}");
}

/// What the server says of an unknown field lists those that it knows.
#[test]
fn requests_may_have_the_fields_that_are_described_and_no_others() {
    let (_directory, _served, mut client) = crawl("1ms");
    let description = Description::read();
    let line = |client: &mut Client, path: &str| {
        let answered = client.post(path, r#"{"?":1}"#).lines().remove(0);
        answered["reason"].as_str().unwrap().to_owned()
    };
    let problem = |client: &mut Client, method: &str, path: &str, body: &str| {
        client.ask(method, path, body).json()["detail"].as_str().unwrap().to_owned()
    };
    let said = [
        ("Url", line(&mut client, "/v1/crawls/c/urls")),
        ("Done", line(&mut client, "/v1/crawls/c/done")),
        ("TokenObject", line(&mut client, "/v1/crawls/c/extend")),
        ("Drop", problem(&mut client, "POST", "/v1/crawls/c/drop", r#"{"?":1}"#)),
        ("ServeSettings", problem(&mut client, "PUT", "/v1/crawls/c", r#"{"serve":{"?":1}}"#)),
    ];
    for (name, said) in said {
        let (_, known) = said.split_once("expected ").unwrap_or_else(|| panic!("{name}: {said}"));
        let known: BTreeSet<&str> = known.split('`').skip(1).step_by(2).collect();
        let described = description.schema(name)["properties"].as_object().unwrap();
        assert_eq!(known, described.keys().map(String::as_str).collect(), "{name}");
    }
}
