//! The cost of the simulated web, which shares its cores with the crawl.

use std::collections::HashMap;
use std::hint::black_box;

use crawler::simulate::{Asked, PageId, Server, SimulateOptions, TruthOptions, World};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn world() -> World {
    let mut options = SimulateOptions::default();
    (options.hosts, options.pages) = (2_000, 100_000);
    World::new(&options).expect("valid options")
}

/// Each call another page, evenly over all hosts' sizes.
fn cycle(world: &World) -> impl FnMut() -> PageId {
    let pages: Vec<PageId> = world.page_ids().step_by(97).collect();
    let mut pages = pages.into_iter().cycle();
    move || pages.next().expect("pages")
}

fn model(c: &mut Criterion) {
    let world = world();
    let mut group = c.benchmark_group("simulate");
    group.throughput(Throughput::Elements(1));
    let mut next = cycle(&world);
    group.bench_function("answer", |b| {
        b.iter(|| black_box(world.answer(&Asked::Page { id: next(), session: true }, 2)));
    });
    let mut next = cycle(&world);
    let addresses: HashMap<PageId, String> = world.page_ids().step_by(97).map(|id| (id, world.url(id))).collect();
    group.bench_function("find", |b| {
        b.iter(|| {
            let rest = &addresses[&next()]["http://".len()..];
            let (host, path) = rest.split_at(rest.find('/').expect("a path"));
            black_box(world.find(host, path))
        });
    });
    group.throughput(Throughput::Elements(u64::from(world.pages())));
    group.sample_size(10).bench_function("truth of 100,000 pages", |b| {
        b.iter(|| black_box(world.truth(&TruthOptions::default())));
    });
}

/// Client and server on one thread, one connection: the whole cost of a request, including the client's part.
fn served(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let world = world();
    let mut next = cycle(&world);
    let requests: Vec<String> = (0..1_000)
        .map(|_| {
            let url = world.url(next());
            let (host, path) = url["http://".len()..].split_once('/').expect("a path");
            format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
        })
        .collect();
    let mut options = world.options().clone();
    options.slow_host_percent = 0;
    let (server, mut stream) = runtime.block_on(async {
        let server = Server::start(World::new(&options).expect("valid options")).await.expect("loopback");
        let stream = TcpStream::connect(server.address()).await.expect("connected");
        (server, stream)
    });
    let mut requests = requests.iter().cycle();
    let mut buffer = vec![0; 256 * 1024];
    let mut group = c.benchmark_group("simulate");
    group.throughput(Throughput::Elements(1));
    group.bench_function("request over loopback", |b| {
        b.iter(|| {
            let request = requests.next().expect("requests");
            runtime.block_on(async {
                stream.write_all(request.as_bytes()).await.expect("written");
                let mut filled = 0;
                loop {
                    filled += stream.read(&mut buffer[filled..]).await.expect("read");
                    let Some(end) = buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n") else {
                        continue;
                    };
                    let head = std::str::from_utf8(&buffer[..end]).expect("ASCII");
                    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
                    if filled == end + 4 + length.parse::<usize>().expect("a number") {
                        break;
                    }
                }
            });
        });
    });
    drop(server);
}

criterion_group!(benches, model, served);
criterion_main!(benches);
