//! One crawl by spider: `spider-peer START HOSTS CONCURRENCY`, where HOSTS is a file of one host name a line.

use std::time::Duration;

use spider::website::Website;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [start, hosts, concurrency] = arguments.as_slice() else {
        eprintln!("usage: spider-peer START HOSTS CONCURRENCY");
        std::process::exit(2);
    };
    let hosts: Vec<String> = std::fs::read_to_string(hosts).expect("a file of hosts").lines().map(str::to_owned).collect();
    let concurrency: usize = concurrency.parse().expect("a number of requests at once");

    let mut website = Website::new(start);
    website
        .with_respect_robots_txt(false)
        .with_delay(0)
        .with_retry(0)
        .with_ignore_sitemap(true)
        .with_user_agent(Some("spider-peer"))
        .with_request_timeout(Some(Duration::from_secs(30)))
        .with_danger_accept_invalid_certs(std::env::var_os("PEER_INSECURE").is_some())
        .with_concurrency_limit(Some(concurrency))
        .with_external_domains(Some(hosts.into_iter()));
    website.crawl().await;
    println!("{}", website.get_size().await);
}
