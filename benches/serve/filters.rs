//! Filters over Redis' protocol: commands a second, and what ten million members take. The same load for any server of that protocol.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Barrier};
use std::time::Instant;
use std::{env, thread};

use crawler::serve::filters::{FilterLimits, Filters};
use crawler::serve::http::Access;
use crawler::serve::resp::{RespLimits, RespServer};

const CLIENTS: u8 = 2;
/// Commands that are sent before their answers are taken.
const PIPELINE: u64 = 1_000;

/// Adds this many members with SADD, with BF.ADD, and with BF.MADD in batches of 100; three of ten are new.
///
/// `FILTERS_AT=127.0.0.1:6379` asks a server that is there already, with SADD alone unless `FILTERS_BLOOM` is set.
pub(crate) fn commands(members: u64) {
    let given: Option<SocketAddr> = env::var("FILTERS_AT").ok().map(|at| at.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let filters = Arc::new(Filters::open(directory.path(), FilterLimits::default()).unwrap());
    let address = given.unwrap_or_else(|| {
        let (address, filters) = ("127.0.0.1:0".parse().unwrap(), Arc::clone(&filters));
        let server = RespServer::listen(address, filters, Access::default(), RespLimits::default());
        let server = runtime.block_on(server).unwrap();
        let address = server.address().unwrap();
        runtime.spawn(server.serve());
        address
    });
    let has_bloom = given.is_none() || env::var_os("FILTERS_BLOOM").is_some();
    for (name, batch) in [("SADD", 1), ("SADD", 100), ("BF.ADD", 1), ("BF.MADD", 100)] {
        if name.starts_with("BF") && !has_bloom {
            continue;
        }
        let key = format!("{name}:{batch}");
        let mut first = TcpStream::connect(address).unwrap();
        if name.starts_with("BF") {
            let reserve = ["BF.RESERVE", &key, "0.0001", &members.to_string()]
                .map(|string| format!("${}\r\n{string}\r\n", string.len()));
            first.write_all(format!("*4\r\n{}", reserve.concat()).as_bytes()).unwrap();
            first.read_exact(&mut [0; 5]).unwrap();
        }
        let ready = Arc::new(Barrier::new(usize::from(CLIENTS) + 1));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (ready, key, to) = (Arc::clone(&ready), key.clone(), TcpStream::connect(address).unwrap());
                thread::spawn(move || load(client, members / u64::from(CLIENTS), (name, batch), &key, to, &ready))
            })
            .collect();
        ready.wait();
        let began = Instant::now();
        for client in clients {
            client.join().unwrap();
        }
        let took = began.elapsed().as_secs_f64();
        let (_, memory) = filters.totals();
        println!(
            "{name:8} {batch:>4} a command {:>9.0} URLs/s; all filters: {:.1} MB",
            members as f64 / took,
            memory as f64 / 1e6
        );
    }
    runtime.shutdown_background();
    filters.close();
}

fn load(client: u8, members: u64, (name, batch): (&str, u64), key: &str, mut to: TcpStream, ready: &Barrier) {
    to.set_nodelay(true).unwrap();
    // Made before, so that only sending them counts; sent again and again, with other numbers in them.
    let commands = (PIPELINE / batch).max(1);
    let mut text = Vec::new();
    let mut places = Vec::new();
    for _ in 0..commands {
        write!(text, "*{}\r\n${}\r\n{name}\r\n${}\r\n{key}\r\n", batch + 2, name.len(), key.len()).unwrap();
        for _ in 0..batch {
            let url = format!("http://www.host-{client:03}.example/articles/2024/");
            write!(text, "${}\r\n{url}", url.len() + 10).unwrap();
            places.push(text.len());
            text.extend_from_slice(b"0000000000\r\n");
        }
    }
    let digits = |mut number: u64| {
        let mut digits = [b'0'; 10];
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        digits
    };
    let (mut answer, mut next) = (vec![0; 1 << 16], 0_u64);
    ready.wait();
    for _ in 0..members / (commands * batch) {
        for (line, &place) in (0_u64..).zip(&places) {
            let number = if line % 10 < 3 {
                next += 1;
                next
            } else {
                next - (line.wrapping_mul(0x9e37_79b9) % next.max(1)).min(100_000)
            };
            text[place..place + 10].copy_from_slice(&digits(number));
        }
        to.write_all(&text).unwrap();
        // Each member of an array has a line, and so has the array.
        let mut lines = if name == "BF.MADD" { commands * (batch + 1) } else { commands };
        while lines > 0 {
            let read = to.read(&mut answer).unwrap();
            assert!(read > 0);
            lines -= answer[..read].split(|byte| *byte == b'\n').count() as u64 - 1;
        }
    }
}

/// What this many members take: an exact set that has grown, and a Bloom filter of that capacity at 1e-4.
pub(crate) fn memory(members: u64) {
    use crawler::serve::filters::FilterKind;
    let directory = tempfile::tempdir().unwrap();
    let filters = Filters::open(directory.path(), FilterLimits::default()).unwrap();
    let mut before = 0;
    let bloom =
        serde_json::json!({ "kind": "bloom", "capacity": members, "rate": 1e-4, "grows": true, "open_ended": false });
    for (name, kind) in [("set", FilterKind::Exact), ("bloom", serde_json::from_value(bloom).unwrap())] {
        let filter = filters.make(name.as_bytes(), kind).unwrap();
        let (began, mut added) = (Instant::now(), Vec::new());
        let mut number = 0_u64;
        while number < members {
            let these: Vec<_> = (number..members.min(number + 4_096))
                .map(|number| filter.fingerprint(format!("http://a.example/{number}").as_bytes()))
                .collect();
            number += these.len() as u64;
            added.clear();
            filter.add(&these, &mut added).unwrap();
        }
        let (_, bytes) = filters.totals();
        let of = (bytes - before) as f64;
        before = bytes;
        println!(
            "{name:8} {members} members take {:.1} MB, {:.2} bytes each; added in {:.1} s",
            of / 1e6,
            of / members as f64,
            began.elapsed().as_secs_f64()
        );
    }
    filters.close();
    drop(filters);
    let began = Instant::now();
    let filters = Filters::open(directory.path(), FilterLimits::default()).unwrap();
    println!("{:8} {:.2} s until both are open again", "reopen", began.elapsed().as_secs_f64());
    drop(filters);
}
