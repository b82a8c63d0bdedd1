//! A listener on loopback that serves each of its visitors in a thread of its own; and what a visitor asks.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
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
