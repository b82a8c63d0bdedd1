//! Tunnels through an HTTP proxy: CONNECT (RFC 9110 section 9.3.6).

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::crawl::http::transport::Transport;

/// The most bytes of an answer's head.
const MAX_HEAD: usize = 16 << 10;
/// The most interim answers before the final one.
const MAX_INTERIM: usize = 10;

/// Requests a tunnel to `authority`, and returns the status of the answer. After a 2xx status, the connection leads to the host.
///
/// # Errors
/// When the connection breaks, or the answer is not HTTP/1.
pub(super) async fn ask(transport: &mut Transport, authority: &str, headers: &[u8]) -> io::Result<u16> {
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n").into_bytes();
    request.extend_from_slice(headers);
    request.extend_from_slice(b"\r\n");
    transport.write_all(&request).await?;
    transport.flush().await?;
    let mut head = Vec::new();
    for _ in 0..=MAX_INTERIM {
        let end = loop {
            match end_of_head(&head) {
                Some(end) if end <= MAX_HEAD => break end,
                None if head.len() <= MAX_HEAD => {}
                _ => return Err(nonsense()),
            }
            if transport.read_buf(&mut head).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let status = status_of(&head[..end]).ok_or_else(nonsense)?;
        head.drain(..end);
        match status {
            // The host does not speak before it is spoken to.
            200..300 if head.is_empty() => return Ok(status),
            200..300 => return Err(nonsense()),
            100..200 => {}
            _ => return Ok(status),
        }
    }
    Err(nonsense())
}

fn nonsense() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// The position after the empty line.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let ends = |end: &[u8]| bytes.windows(end.len()).position(|window| window == end).map(|at| at + end.len());
    ends(b"\r\n\r\n").into_iter().chain(ends(b"\n\n")).min()
}

fn status_of(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let rest = line.strip_prefix(b"HTTP/1.")?;
    let status = str::from_utf8(rest.get(1..5)?).ok()?.strip_prefix(' ')?;
    let is_over = rest.get(5).is_none_or(u8::is_ascii_whitespace);
    status.parse().ok().filter(|status| is_over && (100..1000).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_that_of_http_1() {
        for (head, status) in [
            ("HTTP/1.1 200 OK\r\n\r\n", Some(200)),
            ("HTTP/1.0 407\r\n\r\n", Some(407)),
            ("HTTP/1.1 502\n\n", Some(502)),
            ("HTTP/2 200\r\n\r\n", None),
            ("HTTP/1.1 2000 x\r\n\r\n", None),
            ("HTTP/1.1 20 x\r\n\r\n", None),
            ("HTTP/1.1 +20\r\n\r\n", None),
            ("SSH-2.0-OpenSSH\r\n\r\n", None),
            ("", None),
        ] {
            assert_eq!(status_of(head.as_bytes()), status, "{head:?}");
        }
        assert_eq!(end_of_head(b"a\n\nb\r\n\r\n"), Some(3));
        assert_eq!(end_of_head(b"a\r\nb\r\n\r"), None);
    }
}
