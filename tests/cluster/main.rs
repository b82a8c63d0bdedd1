//! One crawl on many machines, which here are processes of one machine: real NATS servers, real nodes, and a simulated web that records
//! every request.
//!
//! The tests need `nats-server`. If it is not installed, they report that they are skipped; with `NO_SKIPS`, they fail.
#![cfg(all(feature = "cluster", unix))]

#[path = "../archive/mod.rs"]
mod archive;
mod kept;
mod nodes;
mod servers;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output};
use std::time::Duration;

use nodes::{Crawl, SEED, Web, records};
use serde_json::Value;
use servers::{Servers, program, until};

/// The crawl delay of hosts in tests where waiting does not matter.
const SHORT: Duration = Duration::from_millis(20);

/// Asserts what must hold for any crawl.
fn assert_polite_and_whole(web: &Web, crawl: &Crawl<'_>) -> u64 {
    let judgment = web.judgment();
    assert_eq!((judgment.missed, judgment.fetched), (0, judgment.reachable), "{judgment}");
    assert_eq!((judgment.fetched_against_robots, judgment.hosts_before_robots, judgment.unknown_urls), (0, 0, 0));
    assert_eq!((judgment.hosts_hurried, judgment.hosts_concurrent), (0, 0), "{judgment}");
    let (merged, left_out) = crawl.merged();
    assert!(merged.len() as u64 >= judgment.reachable, "{} records of {judgment}", merged.len());
    assert!(left_out as u64 <= judgment.fetched_twice + 50, "{left_out} left out: {judgment}");
    judgment.fetched_twice
}

/// Three nodes, one of which is told to leave and one of which joins later: every page and every number is the same as
/// without servers.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_the_crawl_that_one_machine_makes() {
    let Some(program) = program() else { return };
    let alone = Web::serve(40, 1200, SHORT).await;
    let job = tempfile::tempdir().unwrap();
    let output = alone.crawler().args([SEED, "--json", "--job"]).arg(job.path().join("job")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected: Value = serde_json::from_slice(&output.stdout).unwrap();

    let servers = Servers::start(program, 3, "");
    let web = Web::serve(40, 1200, SHORT).await;
    let crawl = Crawl::new(&web, servers.addresses(), "same");
    let (first, second) = (crawl.start(0), crawl.start(1));
    crawl.await_records(100);
    let third = crawl.start(2);
    until("all nodes are there", || crawl.names().len() == 3);
    assert!(crawl.ask(&["cluster", "leave", crawl.job(1).to_str().unwrap()]).status.success());
    second.wait();
    for node in [first, third] {
        node.wait();
    }
    assert_eq!(assert_polite_and_whole(&web, &crawl), 0, "none is fetched twice where all end in good order");
    let (merged, left_out) = crawl.merged();
    let keys = |records: &[Value]| -> BTreeSet<String> {
        records.iter().map(|record| record["key"].as_str().unwrap().to_owned()).collect()
    };
    let theirs = keys(&records(&job.path().join("job/pages.jsonl")));
    assert_eq!((merged.keys().cloned().collect::<BTreeSet<_>>(), left_out), (theirs, 0));
    let report = crawl.report();
    assert_eq!(report["finish"], "drained");
    // Whether a URL was first found by a link or by a redirect is partly chance: the sources are compared in total.
    let urls = |report: &Value| {
        let mut urls = report["urls"].clone();
        let sources = urls.as_object_mut().unwrap().remove("sources").unwrap();
        // The first ten failures are examples, and which came first is chance.
        urls.as_object_mut().unwrap().remove("failed_pages").unwrap();
        (urls, sources.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>())
    };
    assert_eq!(urls(&report), urls(&expected));
    for path in [
        "/pages/requests",
        "/pages/statuses",
        "/pages/whole/count",
        "/robots/requests",
        "/robots/statuses",
        "/seeds",
        "/hosts/known",
        "/politeness",
    ] {
        assert_eq!(report.pointer(path), expected.pointer(path), "{path}");
    }
    // The percentiles are of all nodes' times.
    let times = report["pages"]["whole"]["times"].as_str().unwrap();
    let counts = times.split(' ').map(|time| time.split_once('*').map_or(1, |(_, count)| count.parse().unwrap()));
    assert_eq!(counts.sum::<u64>(), report["pages"]["whole"]["count"], "{times}");
    // Over all partitions, up to the last moment that each has stored.
    let moments = report["timeline"]["moments"].as_array().unwrap();
    let fetched = moments.last().unwrap()["fetched"].as_u64().unwrap();
    assert!(fetched * 2 > expected["urls"]["fetched"].as_u64().unwrap(), "{fetched}");
    let shards = report["seen"]["shards"].as_array().unwrap();
    let of_one = expected["seen"]["shards"].as_array().unwrap().len();
    let partitions: Vec<u64> = shards.iter().map(|shard| shard["partition"].as_u64().unwrap()).collect();
    assert_eq!(partitions, (0..12).flat_map(|partition| vec![partition; of_one]).collect::<Vec<_>>());
    let inserted = |report: &Value| report["seen"]["merged"]["inserted"].as_u64().unwrap();
    assert_eq!(inserted(&report), inserted(&expected));
    let text = String::from_utf8(crawl.ask(&["stats", "same", "--filter"]).stdout).unwrap();
    let is_of_partition = |line: &str| line.split_whitespace().next().is_some_and(|name| name.contains('/'));
    assert!(text.lines().any(is_of_partition), "{text}");
    // A host has one partition. How many of the twelve have a host at all depends on this web's port, which is random.
    let partition = |record: &Value| record["cluster"]["partition"].as_u64().unwrap();
    let host = |record: &Value| record["url"].as_str().unwrap().split('/').nth(2).unwrap().to_owned();
    let partitions: BTreeMap<String, u64> = merged.values().map(|record| (host(record), partition(record))).collect();
    assert!(merged.values().all(|record| partitions[&host(record)] == partition(record)), "{partitions:?}");
    assert!(partitions.values().collect::<BTreeSet<_>>().len() > 4, "{partitions:?}");
    let status = String::from_utf8(crawl.ask(&["cluster", "status"]).stdout).unwrap();
    assert!(status.contains("12 partitions, 0 owned, 12 idle, it is over"), "{status}");
    // The logs explain why a URL was not fetched as the job does, without any node.
    let mut urls: Vec<&str> = merged.keys().step_by(40).map(String::as_str).collect();
    urls.extend(["http://www.simulated.test/nowhere", "http://never.simulated.test/", "mailto:x@simulated.test"]);
    let explained =
        alone.crawler().args(["explain", "--json", "--job"]).arg(job.path().join("job")).args(&urls).output();
    let explained = String::from_utf8(explained.unwrap().stdout).unwrap();
    let expected: Vec<Value> = explained.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = crawl.explained(&urls);
    assert_eq!((told.len(), expected.len()), (urls.len(), urls.len()));
    for (told, expected) in told.iter().zip(&expected) {
        // Page records are kept by the nodes.
        let verdict = if expected["verdict"] == "fetched" { "no_record".into() } else { expected["verdict"].clone() };
        assert_eq!(told["verdict"], verdict, "{told}");
        for path in ["/url", "/scope", "/trap", "/seen/sighting", "/robots/answer", "/journal/place"] {
            assert_eq!(told.pointer(path), expected.pointer(path), "{path}: {told}");
        }
    }
    let with_records = (0..3).map(|node| crawl.explained(&["--job", crawl.job(node).to_str().unwrap(), urls[0]]));
    assert_eq!(with_records.filter(|told| told[0]["verdict"] == "fetched").count(), 1);
    assert_eq!(told[0]["cluster"]["owner"], Value::Null, "{}", told[0]);
    assert_eq!(told[0]["cluster"]["partition"], merged[urls[0]]["cluster"]["partition"]);
    // A node that comes too late gets the report, and the reason.
    crawl.start(3).wait();
    // A crawl keeps the settings that it was started with: a command that asks about it need not know them.
    let scoped = |command: &mut Command| command.env_remove("CRAWLER_SCOPE_KIND").output().unwrap();
    let output = scoped(crawl.command_of("scoped", 4).args(["--scope", "domain", "--depth", "0"]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut command = web.crawler();
    command.args(["explain", "--json", "--cluster-name", "scoped", "--cluster"]).arg(servers.addresses());
    let output = scoped(command.args(["http://never.simulated.test/", "http://other.example/"]));
    let told = String::from_utf8(output.stdout).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rules: Vec<_> = told.iter().map(|told| told["scope"]["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["scope.kind = domain: a seed opened it", "scope.kind = domain"]);
    assert_eq!(told[1]["refusal"], "out_of_scope");
}

/// Nodes are killed, stopped for longer than their lease and started again, and so is a server: nothing is lost,
/// politeness holds, and hardly anything is fetched twice.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_dies_nothing_is_lost() {
    let Some(program) = program() else { return };
    let mut servers = Servers::start(program, 3, "");
    let web = Web::serve(60, 2500, Duration::from_millis(100)).await;
    let mut crawl = Crawl::new(&web, servers.addresses(), "chaos");
    // Enough for two logs.
    crawl.settings.push(("CLUSTER_PARTITIONS", "40".to_owned()));
    crawl.settings.extend(["LINKS", "SKIPPED", "WARC"].map(|what| (kept::setting(what), "true".to_owned())));
    crawl.settings.push((kept::setting("BODIES"), crawl.at("bodies").display().to_string()));
    let mut nodes: Vec<_> = (0..3).map(|number| Some(crawl.start(number))).collect();
    crawl.await_records(200);
    nodes[1].take().unwrap().kill();
    crawl.await_records(400);
    nodes[1] = Some(crawl.start(1));
    // It is alive, and does not know that others now own its partitions.
    let stopped = nodes[2].take().unwrap();
    let name = crawl.names().get("j2").cloned();
    stopped.signal("-STOP");
    until("it is taken for dead", || name.is_none() || crawl.names().get("j2") != name.as_ref());
    stopped.signal("-CONT");
    crawl.await_records(800);
    servers.kill(0);
    crawl.await_records(1000);
    servers.begin(0);
    nodes[0].take().unwrap().kill();
    // A part of the node's files is damaged.
    kept::tear_journals(&crawl.job(0), 3);
    nodes[0] = Some(crawl.start(0));
    crawl.await_records(1300);
    until("what they have is kept", || (0..3).map(|number| kept::copies(&crawl.job(number))).sum::<usize>() > 30);
    // All nodes and servers at once.
    nodes.iter_mut().filter_map(Option::take).for_each(nodes::Node::kill);
    stopped.kill();
    kept::tear_journals(&crawl.job(1), 3);
    (0..3).for_each(|number| servers.kill(number));
    (0..3).for_each(|number| servers.begin(number));
    servers.await_health();
    let nodes: Vec<_> = (0..3).map(|number| crawl.start(number)).collect();
    for node in nodes {
        node.wait();
    }
    let twice = assert_polite_and_whole(&web, &crawl);
    eprintln!("{twice} of 2,500 pages were fetched twice");
    assert!(twice < 250, "{twice} of 2,500 pages were fetched twice");
    kept::assert_whole(&web, &crawl);
    let begun = (0..3).map(|node| crawl.log(node).matches("begins with this machine's own copy").count());
    assert!(begun.sum::<usize>() > 10, "nodes that come back have what they had");
}

/// Nothing that is dropped is fetched from then on: not by the running nodes, not by one that joins later, and not
/// after nodes and servers were killed. When the drop is undone, it is fetched again.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_dropped_is_asked_nothing_by_any_node() {
    let Some(program) = program() else { return };
    let mut servers = Servers::start(program, 1, "");
    let web = Web::serve(40, 3000, Duration::from_millis(100)).await;
    let mut crawl = Crawl::new(&web, servers.addresses(), "dropped");
    crawl.settings.push(("OUTPUT_SKIPPED", "true".to_owned()));
    let mut nodes: Vec<_> = (0..2).map(|number| Some(crawl.start(number))).collect();
    crawl.await_records(200);
    let [host, other, wild] = web.largest()[..3] else { unreachable!() };
    let [name, other_name, wild_name] = [host, other, wild].map(|host| web.name(host));
    let pattern = format!("//{}(:[0-9]+)?/", other_name.replace('.', "[.]"));
    let said = |output: Output| {
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{error}");
        error
    };
    let drop = |arguments: &[&str]| said(crawl.ask(&[&["drop"], arguments].concat()));
    let told = drop(&["--host", &name, "--urls", &pattern]);
    assert!(told.contains(&format!("dropped: host {name}; no more requests are sent to it")), "{told}");
    assert!(
        told.contains(&format!("dropped: urls {pattern}; no more requests")) && !told.contains("not all"),
        "{told}"
    );
    let asked = [host, other].map(|host| web.asked(host));
    let all = crawl.records().len();
    crawl.await_records(all + 200);
    nodes[0].take().unwrap().kill();
    nodes[0] = Some(crawl.start(2));
    // Known to both nodes when they are killed, and read from the servers by a node that starts later.
    drop(&["--host", &format!("*.{wild_name}")]);
    let wild_asked = web.asked(wild);
    nodes.iter_mut().filter_map(Option::take).for_each(nodes::Node::kill);
    servers.kill(0);
    servers.begin(0);
    servers.await_health();
    nodes = [1, 3].map(|number| Some(crawl.start(number))).into();
    let all = crawl.records().len();
    crawl.await_records(all + 200);
    assert_eq!([host, other].map(|host| web.asked(host)), asked);
    assert_eq!(web.asked(wild), wild_asked);
    let listed = String::from_utf8(crawl.ask(&["drop"]).stdout).unwrap();
    assert_eq!(listed, format!("host {name}\nurls {pattern}\nhost *.{wild_name}\n"));
    let url = web.unasked(host);
    let explained = crawl.explained(&[&url]);
    assert_eq!(explained[0]["refusal"], "dropped", "{}", explained[0]);
    let told = drop(&["--host", &name]);
    assert!(told.contains(&format!("was dropped already: host {name}")), "{told}");

    let told = drop(&["--undo", "--host", &name, "--host", "nowhere.test"]);
    assert!(told.contains(&format!("taken back: host {name}")), "{told}");
    assert!(told.contains("was not dropped: host nowhere.test; what is: crawler drop --cluster nats://"), "{told}");
    until("it is asked again", || web.asked(host) > asked[0] + 5);
    let all = crawl.records().len();
    nodes.into_iter().flatten().for_each(|node| _ = node.wait());
    assert_eq!((web.asked(other), web.asked(wild)), (asked[1], wild_asked));
    let judgment = web.judgment();
    assert_eq!((judgment.hosts_hurried, judgment.hosts_concurrent), (0, 0), "{judgment}");
    assert!(crawl.records().len() > all);
    let report = crawl.report();
    assert_eq!(report["finish"], "drained");
    assert!(report["urls"]["refused"]["dropped"].as_u64().unwrap() > 0, "{}", report["urls"]);
    // The node that owns it records the links to it.
    let skipped = crawl.jobs().into_iter().flat_map(|job| nodes::records(&job.join("skipped.jsonl")));
    let of_other = skipped.filter(|record| record["url"].as_str().unwrap().contains(&other_name));
    let reasons: BTreeSet<String> = of_other.map(|record| record["reason"].as_str().unwrap().to_owned()).collect();
    assert!(reasons.contains("dropped"), "{reasons:?}");
    let told = drop(&["--undo", "--host", &format!("*.{wild_name}")]);
    assert!(told.contains("the crawl is over"), "{told}");
    let refused = crawl.ask(&["drop", "--host", "a b"]);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
    let node = web.crawler().args(["drop", "--host", &name]).arg(crawl.job(1)).output().unwrap();
    let error = String::from_utf8(node.stderr).unwrap();
    assert!(node.status.code() == Some(2) && error.contains("--cluster-name dropped"), "{error}");
}

/// A partition continues on another node from its snapshot, after a purge of its log.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_owner_begins_with_a_snapshot() {
    let Some(program) = program() else { return };
    let servers = Servers::start(program, 1, "");
    // A snapshot pays off once the log has grown by half of the snapshot's size. So the seen set audits nothing, since
    // the audit would be most of a small snapshot; and one worker and close checkpoints keep the first snapshot small
    // on a fast machine.
    let web = Web::serve(400, 20_000, Duration::from_millis(5)).await;
    let mut crawl = Crawl::new(&web, servers.addresses(), "snapshots");
    crawl.settings = [
        ("CLUSTER_PARTITIONS", "1"),
        ("JOB_CHECKPOINT_INTERVAL", "200ms"),
        ("SEEN_CAPACITY", "40000"),
        ("SEEN_AUDIT", "0"),
        ("CRAWL_WORKERS", "1"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .into();
    // After the second snapshot the log is purged.
    for number in 0..2 {
        let mut node = crawl.start(number);
        until("a snapshot is made", || {
            assert!(node.child.try_wait().unwrap().is_none(), "it ended without a snapshot: {}", crawl.log(number));
            crawl.log(number).contains("a snapshot was made")
        });
        node.kill();
    }
    crawl.start(2).wait();
    for number in 1..3 {
        assert!(crawl.log(number).contains("begins with a snapshot"), "{}", crawl.log(number));
    }
    let twice = assert_polite_and_whole(&web, &crawl);
    assert!(twice < 1000, "{twice} of 20,000 pages were in flight at two kills");
    assert_eq!(crawl.report()["finish"], "drained");
}

/// Servers that do not answer are reported, and servers that have lost a crawl end it.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_does_not_wait_for_a_crawl_that_is_gone() {
    let Some(program) = program() else { return };
    let mut servers = Servers::start(program, 1, "");
    let web = Web::serve(40, 5000, Duration::from_millis(100)).await;
    let crawl = Crawl::new(&web, servers.addresses(), "lost");
    let mut node = crawl.start(0);
    crawl.await_records(50);
    servers.kill(0);
    until("silence is told", || crawl.log(0).contains("the servers have not answered for 5s"));
    servers.begin(0);
    let records = crawl.records().len();
    crawl.await_records(records + 50);
    assert!(node.child.try_wait().unwrap().is_none(), "it goes on with what they have kept");
    servers.kill(0);
    servers.wipe(0);
    servers.begin(0);
    let mut status = None;
    until("the node ends", || {
        status = node.child.try_wait().unwrap();
        status.is_some()
    });
    let log = crawl.log(0);
    assert_eq!(status.unwrap().code(), Some(1), "{log}");
    assert!(log.contains("the servers do not have the stream KV_crawler-lost of this crawl any more"), "{log}");
    assert!(log.contains("crawler merge"), "{log}");
}

/// Servers that require a certificate, with an authority that this machine does not know.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_and_servers_show_each_other_certificates() {
    let Some(program) = program() else { return };
    let pem = |name: &str| format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
    let [own, key] = ["benches/tls/ecdsa.pem", "benches/tls/ecdsa-key.pem"].map(pem);
    let authority = pem("tests/tls/client-authority.pem");
    let more = format!("tls {{ cert_file: \"{own}\", key_file: \"{key}\", ca_file: \"{authority}\", verify: true }}\n");
    let servers = Servers::start(program, 1, &more);
    let web = Web::serve(3, 20, SHORT).await;
    let crawl = Crawl::new(&web, servers.addresses(), "shown");
    let ended = |certificates: &[(&str, &str)]| {
        let mut command = crawl.command(0);
        command.envs(certificates.iter().map(|(name, file)| (format!("CRAWLER_CLUSTER_{name}"), pem(file))));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let ours = ("CA_FILE", "benches/tls/ecdsa-authority.pem");
    let (code, said) = ended(&[]);
    assert!(code == Some(1) && said.contains("UnknownIssuer"), "{said}");
    let (code, said) = ended(&[ours]);
    assert_eq!(code, Some(1), "{said}");
    let (code, said) = ended(&[ours, ("CERTIFICATE", "tests/tls/client.pem"), ("KEY", "tests/tls/key.pem")]);
    assert!(code == Some(2) && said.contains("cluster.certificate: the key in"), "{said}");
    let (code, said) = ended(&[ours, ("CERTIFICATE", "tests/tls/client.pem"), ("KEY", "tests/tls/client-key.pem")]);
    assert_eq!(code, Some(0), "{said}");
}

/// Each refusal has its exit code, and names the setting to change.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_is_refused_by_name() {
    let Some(program) = program() else { return };
    let more = "authorization { user: ann, password: \"quite secret\" }\n";
    let servers = Servers::start(program, 1, more);
    let web = Web::serve(3, 20, SHORT).await;
    let crawl = Crawl::new(&web, servers.addresses(), "refused");
    let refused = |output: Output, code: i32, words: &str| {
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(words) && !error.contains("quite secret"), "{words}: {error}");
    };
    let address = servers.addresses();
    refused(
        crawl.command(0).output().unwrap(),
        1,
        &format!("the servers {address} do not let us in: see cluster.sign_in"),
    );
    let signed = |number| {
        let mut command = crawl.command(number);
        command.env("CRAWLER_CLUSTER_SIGN_IN", "env:NATS").env("NATS", "ann:quite secret");
        command
    };
    let wrong = signed(0).env("NATS", "ann:wrong").output().unwrap();
    refused(wrong, 1, "do not let us in");
    refused(signed(0).env_remove("NATS").output().unwrap(), 2, "the environment variable NATS");
    let nowhere = Crawl::new(&web, "nats://127.0.0.1:1".to_owned(), "nowhere");
    let nowhere = nowhere.command(0).output().unwrap();
    refused(nowhere, 1, "127.0.0.1:1");
    refused(signed(0).arg("--cookies").output().unwrap(), 2, "--cookies");
    refused(signed(0).args(["--max-pages", "9"]).output().unwrap(), 2, "--max-pages");

    let done = signed(0).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    refused(signed(1).env("CRAWLER_CLUSTER_PARTITIONS", "13").output().unwrap(), 5, "cluster.partitions): 12, not 13");
    refused(signed(1).args(["--scope", "host"]).output().unwrap(), 5, "scope");
    refused(signed(1).env("CRAWLER_SEEN_LAYOUT", "exact").output().unwrap(), 5, "filter (seen.*)");
    // An impolite node would be impolite to every host in its partitions.
    let politeness = "politeness or agent (politeness.*, fetch.agent): robots: true, not robots: false";
    refused(signed(1).arg("--no-robots").output().unwrap(), 5, politeness);
    refused(signed(1).args(["--host-delay", "7s"]).output().unwrap(), 5, "host_delay: 20ms, not host_delay: 7s");
    refused(
        signed(1).args(["--user-agent", "other/1"]).output().unwrap(),
        5,
        "politeness or agent (politeness.*, fetch.agent)",
    );
    let rules = crawl.at("rules.toml");
    std::fs::write(&rules, "[hosts.\"www.simulated.test\"]\nhost_delay = \"9s\"\n").unwrap();
    refused(signed(1).arg("--config").arg(&rules).output().unwrap(), 5, "rule for hosts (hosts, groups)");
    refused(signed(1).args(["--partition-by", "domain"]).output().unwrap(), 5, "host, not domain");
    refused(signed(1).arg("http://other.simulated.test/").output().unwrap(), 5, "list of seeds: 1 seeds");
    let mut other = crawl.command_of("another", 0);
    let other = other.env("CRAWLER_CLUSTER_SIGN_IN", "env:NATS").env("NATS", "ann:quite secret").output().unwrap();
    refused(other, 5, "holds a node of another crawl, refused");
    // A node leaves when its time is over, although the crawl is not.
    let mut hasty = crawl.command_of("hasty", 2);
    hasty.env("CRAWLER_CLUSTER_SIGN_IN", "env:NATS").env("NATS", "ann:quite secret");
    refused(hasty.args(["--max-duration", "1s", "--host-delay", "1h"]).output().unwrap(), 0, "this node has left");
    let nowhere = crawl.ask(&["cluster", "leave", crawl.at("nowhere").to_str().unwrap()]);
    refused(nowhere, 1, "holds no node of a crawl on many machines");
    let gone = crawl.ask(&["cluster", "drain", "nobody"]);
    refused(gone, 1, "do not let us in");
}
