//! A listener on loopback that serves each of its visitors in a thread of its own; what a visitor asks; and where nobody listens.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// Serves until the process ends. A client may open a connection that it does not use: it keeps no other waiting.
pub(crate) fn serve(visit: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, visit) = (listener.local_addr().unwrap(), Arc::new(visit));
    thread::spawn(move || {
        for stream in listener.incoming() {
            // Some tests take all descriptors, and give them back.
            let Ok(stream) = stream else {
                thread::yield_now();
                continue;
            };
            let visit = Arc::clone(&visit);
            thread::spawn(move || visit(stream));
        }
    });
    address
}

/// An address where nobody listens until the test itself does. The system gives no port as low to others.
pub(crate) fn nobody() -> SocketAddr {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = process::id().wrapping_mul(61).wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = 10_000 + u16::try_from(number % 20_000).unwrap();
        if let Ok(free) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return free.local_addr().unwrap();
        }
    }
}

/// The head of a request, with the empty line at its end. It is cut short if the visitor leaves before.
pub(crate) fn request(stream: &mut impl Read) -> Vec<u8> {
    let (mut request, mut byte) = (Vec::new(), [0]);
    while !request.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        request.push(byte[0]);
    }
    request
}

/// The path that a request asks for; empty if the visitor has left.
pub(crate) fn path(request: &[u8]) -> String {
    String::from_utf8_lossy(request).split(' ').nth(1).unwrap_or_default().to_owned()
}
