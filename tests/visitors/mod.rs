//! A listener on loopback that serves each of its visitors in a thread of its own.

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
