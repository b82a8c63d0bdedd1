//! A web of forty pages, served on loopback by a thread.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Its only host. A client does not look up its address.
pub(crate) const SEED: &str = "http://web.example/";

/// Serves the web, and says where.
pub(crate) fn serve() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || listener.incoming().flatten().for_each(|stream| _ = answer(stream)));
    Ok(address)
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut request = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    while reader.read_line(&mut request)? > 2 {}
    let path = request.split(' ').nth(1).unwrap_or("/");
    let (head, body) = match path.trim_start_matches('/').parse::<u32>() {
        _ if path == "/robots.txt" => ("200 OK", "User-agent: *\nDisallow: /13\n".to_owned()),
        _ if path == "/" => ("200 OK", "<a href='/1'>one</a>".to_owned()),
        Ok(7) => ("301 Moved\r\nLocation: /40", String::new()),
        Ok(page @ 1..=40) => {
            let links = [page * 2, page * 2 + 1].map(|link| format!("<a href='{link}'>{link}</a>"));
            ("200 OK", links.concat())
        }
        _ => ("404 Not Found", String::new()),
    };
    write!(stream, "HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// The links of a page, as they are written.
pub(crate) fn hrefs(body: &str) -> impl Iterator<Item = &str> {
    body.split("href='").skip(1).filter_map(|rest| rest.split('\'').next())
}
