//! Hosts and proxies on loopback.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The authority that has signed the hosts' certificate, which is for 127.0.0.1 and `site.test`.
pub(crate) const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/tls/ecdsa-authority.pem");

/// Hands each connection, with its number, to a script in its own thread.
pub(crate) fn serve(script: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let script = Arc::new(script);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let script = Arc::clone(&script);
            thread::spawn(move || script(stream, number));
        }
    });
    address
}

/// The requests: heads, or names.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

/// A host that answers every request on one connection after another, and keeps their heads.
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    asked: Asked,
}

impl Host {
    /// Over TCP alone. Each head is answered by `answer`: a status line with headers, and a body.
    pub(crate) fn plain(answer: impl Fn(&str) -> (String, String) + Send + Sync + 'static) -> Self {
        let asked = Asked::default();
        let told = Arc::clone(&asked);
        let address = serve(move |stream, _| _ = converse(stream, &told, &answer));
        Self { address, asked }
    }

    /// Over TLS.
    pub(crate) fn secure(answer: impl Fn(&str) -> (String, String) + Send + Sync + 'static) -> Self {
        let config = tls();
        let asked = Asked::default();
        let told = Arc::clone(&asked);
        let address = serve(move |stream, _| {
            let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            _ = converse(StreamOwned::new(tls, stream), &told, &answer);
        });
        Self { address, asked }
    }

    /// The heads of the requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

pub(crate) fn tls() -> Arc<ServerConfig> {
    let own = CertificateDer::from_pem_slice(include_bytes!("../../../benches/tls/ecdsa.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../../../benches/tls/ecdsa-key.pem")).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(vec![own], key).unwrap())
}

fn converse(stream: impl Read + Write, told: &Asked, answer: impl Fn(&str) -> (String, String)) -> io::Result<()> {
    let mut lines = BufReader::new(stream);
    loop {
        let head = read_head(&mut lines)?;
        told.lock().unwrap().push(head.clone());
        let (start, body) = answer(&head);
        let text = format!("HTTP/1.1 {start}Content-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        lines.get_mut().write_all(text.as_bytes())?;
        lines.get_mut().flush()?;
    }
}

/// Reads as far as the empty line; an error where the connection ends before it.
pub(crate) fn read_head(lines: &mut impl BufRead) -> io::Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if lines.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(head)
}

/// The value of a header.
pub(crate) fn header(head: &str, name: &str) -> Option<String> {
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    lines.filter(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
}

/// Carries bytes both ways until either side ends.
pub(crate) fn splice(one: &TcpStream, other: &TcpStream) {
    thread::scope(|scope| {
        for (from, to) in [(one, other), (other, one)] {
            scope.spawn(move || {
                let _ = io::copy(&mut &*from, &mut &*to);
                let _ = to.shutdown(Shutdown::Write);
            });
        }
    });
}

/// A SOCKS 5 proxy that takes every name for 127.0.0.1, and records the requested names. With a sign-in, it requires that.
pub(crate) fn socks(sign_in: Option<&'static str>) -> (SocketAddr, Asked) {
    let asked = Asked::default();
    let told = Arc::clone(&asked);
    let address = serve(move |stream, _| _ = speak_socks(&stream, sign_in, &told));
    (address, asked)
}

fn speak_socks(mut stream: &TcpStream, sign_in: Option<&str>, told: &Asked) -> io::Result<()> {
    let [version, count] = take(stream)?;
    assert_eq!(version, 5);
    let mut methods = vec![0; count.into()];
    stream.read_exact(&mut methods)?;
    if let Some(sign_in) = sign_in {
        if !methods.contains(&2) {
            return stream.write_all(&[5, 0xff]);
        }
        stream.write_all(&[5, 2])?;
        let [version] = take(stream)?;
        assert_eq!(version, 1);
        let is_right = format!("{}:{}", text(stream)?, text(stream)?) == sign_in;
        stream.write_all(&[1, u8::from(!is_right)])?;
        if !is_right {
            return Ok(());
        }
    } else {
        stream.write_all(&[5, 0])?;
    }
    let [5, 1, 0, kind] = take(stream)? else { panic!("no request to connect") };
    let host = match kind {
        1 => SocketAddr::from((take::<4>(stream)?, 0)).ip().to_string(),
        3 => text(stream)?,
        _ => panic!("address type {kind}"),
    };
    let port = u16::from_be_bytes(take(stream)?);
    told.lock().unwrap().push(format!("{host}:{port}"));
    match TcpStream::connect(("127.0.0.1", port)) {
        Ok(to) => {
            stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
            splice(stream, &to);
            Ok(())
        }
        Err(_) => stream.write_all(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]),
    }
}

fn take<const LENGTH: usize>(mut stream: &TcpStream) -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A text after its length.
fn text(mut stream: &TcpStream) -> io::Result<String> {
    let [length] = take(stream)?;
    let mut text = vec![0; length.into()];
    stream.read_exact(&mut text)?;
    Ok(String::from_utf8(text).unwrap())
}

/// An HTTP proxy that takes every name for 127.0.0.1, and keeps the heads that it was sent. `fails` says by the number of a connection
/// whether it is closed without an answer.
pub(crate) fn http(fails: impl Fn(usize) -> bool + Send + Sync + 'static) -> (SocketAddr, Asked) {
    let asked = Asked::default();
    let told = Arc::clone(&asked);
    let address = serve(move |stream, number| {
        if !fails(number) {
            _ = speak_http(&stream, &told);
        }
    });
    (address, asked)
}

fn speak_http(stream: &TcpStream, told: &Asked) -> io::Result<()> {
    let mut lines = BufReader::new(stream);
    loop {
        let head = read_head(&mut lines)?;
        told.lock().unwrap().push(head.clone());
        let target = head.split(' ').nth(1).unwrap();
        if head.starts_with("CONNECT ") {
            let to = TcpStream::connect(("127.0.0.1", port_of(target)))?;
            (&*stream).write_all(b"HTTP/1.1 200 well\r\n\r\n")?;
            splice(stream, &to);
            return Ok(());
        }
        let (authority, path) = target.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut to = TcpStream::connect(("127.0.0.1", port_of(authority)))?;
        let lines_of_head = head.lines().skip(1).filter(|line| !line.to_ascii_lowercase().starts_with("proxy-"));
        let rest = lines_of_head.map(|line| format!("{line}\r\n")).collect::<Vec<_>>().concat();
        to.write_all(format!("GET /{path} HTTP/1.1\r\n{rest}").as_bytes())?;
        let mut answer = BufReader::new(to);
        let head = read_head(&mut answer)?;
        let mut body = vec![0; header(&head, "content-length").unwrap().parse().unwrap()];
        answer.read_exact(&mut body)?;
        (&*stream).write_all(&[head.as_bytes(), &body].concat())?;
    }
}

fn port_of(authority: &str) -> u16 {
    authority.rsplit_once(':').map_or(80, |(_, port)| port.parse().unwrap())
}
