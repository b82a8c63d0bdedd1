//! The simulated web in a separate process, so that its cost is not the crawl's.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use crawler::simulate::{Server, SimulateOptions, World};
use tokio::runtime::Builder;

/// A web that another process serves until this is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    process: Child,
}

impl Served {
    pub(crate) fn start(web: &SimulateOptions) -> Self {
        let numbers = [web.hosts, web.pages, web.slow_host_percent.into(), web.latency.as_millis() as u32];
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .arg("serve")
            .args(numbers.map(|number| number.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped")).read_line(&mut line).expect("its address");
        Self { address: line.trim().parse().expect("an address"), process }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().expect("its end");
    }
}

/// Serves a web of these numbers until standard input ends.
pub(crate) fn serve(numbers: &[&str]) {
    let numbers: Vec<u32> = numbers.iter().map(|number| number.parse().expect("a number")).collect();
    let [hosts, pages, slow, latency] = numbers[..] else { panic!("four numbers") };
    let mut web = SimulateOptions::default();
    (web.hosts, web.pages) = (hosts, pages);
    web.slow_host_percent = u8::try_from(slow).expect("a share");
    web.latency = std::time::Duration::from_millis(latency.into());
    (web.retry_after, web.crawl_delay) = (0, std::time::Duration::ZERO);
    let runtime = Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let server = runtime.block_on(Server::start(World::new(&web).expect("valid options"))).expect("loopback");
    println!("{}", server.address());
    std::io::stdin().read_to_end(&mut Vec::new()).expect("standard input");
}
