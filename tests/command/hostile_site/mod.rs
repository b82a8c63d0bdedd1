//! A hostile site.

use crate::loopback::{Loopback, response};

/// A text that would run if anything took it for markup, and ends what texts stand in. All of it may stand in a head.
pub(crate) const MARKUP: &str = "\"'`</li></script>]]><script>alert(1)</script><img src=x onerror=alert(1)>{{x}}\\n%s";

/// What terminals obey, and what turns the direction of writing: clear the screen, set a title, ring, a color by C1, overrides.
const COMMANDS: &[u8] = b"\x1b[2J\x1b]0;owned\x07\r\x08\x7f\xc2\x9b31m\xe2\x80\xae\xe2\x81\xa6\xff\xfe";

/// Hosts of it, beside the first.
const OTHERS: [&str; 4] = ["b.test", "xn--hxajbheg2az3al.test", "script.test", "b-2.test"];

/// The URL to begin with.
pub(crate) const SEED: &str = "http://hostile.test/";

/// Serves it: the answer to each of its URLs is an attack, and some are no answers at all. It has more pages than a test waits for.
pub(crate) fn serve() -> Loopback {
    Loopback::serve(|url| {
        let path = url.split_once('/').map_or("", |(_, path)| path);
        let name = path.trim_start_matches(|c: char| c.is_ascii_digit());
        let html = format!("200 OK\r\nContent-Type: text/html; x={MARKUP}");
        match name {
            "" => response(&html, &front()),
            "robots.txt" if url.starts_with("b.test") => [COMMANDS, MARKUP.as_bytes(), b"\r\n\r\n"].concat(),
            "coding" => format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {MARKUP}\r\n\r\n").into(),
            "reason" => response(&format!("500 {MARKUP}"), COMMANDS),
            "moved" => [b"HTTP/1.1 302 Found\r\nLocation: /to?", MARKUP.as_bytes(), b"\r\n\r\n"].concat(),
            "broken" => [COMMANDS, MARKUP.as_bytes(), b"\r\n\r\n"].concat(),
            _ => response("404 Not Found", MARKUP.as_bytes()),
        }
    })
}

fn front() -> Vec<u8> {
    let mut body = [b"<title>", COMMANDS, MARKUP.as_bytes(), b"</title>"].concat();
    for href in [&b"/?"[..], b"/", b"mailto:", b"http://"] {
        body.extend([b"<a href=\"", href, COMMANDS, b"&quot;<script>alert(1)</script>\">", COMMANDS, b"</a>"].concat());
    }
    for other in OTHERS {
        body.extend(format!("<a href='http://{other}/'>x</a>").bytes());
    }
    for number in 0..200 {
        for name in ["coding", "reason", "moved", "broken"] {
            body.extend(format!("<a href='/{number}{name}'>x</a>").bytes());
        }
    }
    body.extend(format!("<a href='/{}'>long</a>", "x".repeat(7000)).bytes());
    body
}
