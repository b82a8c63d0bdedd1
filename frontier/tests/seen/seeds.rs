//! Seed lists as people write them.

use std::io::{self, BufReader, Read};

use crawler_frontier::address::{Canonicalizer, KeyRules};
use crawler_frontier::driver::{Seed, SeedError, SeedList};

fn canonicalizer() -> Canonicalizer {
    Canonicalizer::new(&KeyRules::default())
}

/// `line wire`, an exclamation mark where https was assumed; or the error's text.
fn told(list: &[u8]) -> Vec<String> {
    let told = |seed: Result<Seed, SeedError>| match seed {
        Ok(seed) => format!("{} {}{}", seed.line, seed.url.wire(), if seed.assumed_https { "!" } else { "" }),
        Err(error) => error.to_string(),
    };
    SeedList::new(list, "seeds.txt", &canonicalizer()).map(told).collect()
}

#[test]
fn a_list_is_read_past_its_bad_lines() {
    let list = "\u{feff}http://a.org/\r\n\r\n  # a comment\r\n\thttp://b.org/?q#f  \nhttp://\nmailto:x\n\nc.org/x";
    assert_eq!(
        told(list.as_bytes()),
        [
            "1 http://a.org/",
            "4 http://b.org/?q",
            "seeds.txt:5: not a URL: empty host: \"http://\"",
            "seeds.txt:6: scheme `mailto` is not crawled: \"mailto:x\"",
            "8 https://c.org/x!",
        ]
    );
    // The mark is one at the beginning only.
    assert!(told("\n\u{feff}http://a.org/".as_bytes())[0].starts_with("seeds.txt:2: not a URL"));
    assert!(told(b"").is_empty());
    assert!(told(b"\n# \n \r\n").is_empty());
}

#[test]
fn a_missing_scheme_is_https_where_a_host_comes_first() {
    for (line, expected) in [
        ("example.org/a", "1 https://example.org/a!"),
        ("example.org:8080/x", "1 https://example.org:8080/x!"),
        ("EXAMPLE.org.", "1 https://example.org./!"),
        ("localhost:3000", "1 https://localhost:3000/!"),
        ("localhost", "1 https://localhost/!"),
        ("192.168.0.1:81", "1 https://192.168.0.1:81/!"),
        ("[::1]:81/x", "1 https://[::1]:81/x!"),
        ("bücher.de?a:b@c", "1 https://xn--bcher-kva.de/?a:b@c!"),
        ("example.org/http://b.org", "1 https://example.org/http://b.org!"),
        ("HTTP:example.org", "1 http://example.org/"),
        ("mailto:x", "seeds.txt:1: scheme `mailto` is not crawled: \"mailto:x\""),
        ("tel:911", "seeds.txt:1: scheme `tel` is not crawled: \"tel:911\""),
        ("example.org:x", "seeds.txt:1: scheme `example.org` is not crawled: \"example.org:x\""),
        ("urn:isbn:1", "seeds.txt:1: scheme `urn` is not crawled: \"urn:isbn:1\""),
        ("ann@example.org", "seeds.txt:1: not a URL: relative URL without a base: \"ann@example.org\""),
        ("/etc/hosts", "seeds.txt:1: not a URL: relative URL without a base: \"/etc/hosts\""),
        ("./page.html", "seeds.txt:1: not a URL: relative URL without a base: \"./page.html\""),
    ] {
        assert_eq!(told(line.as_bytes()), [expected], "{line}");
    }
}

#[test]
fn a_line_that_is_no_text_is_an_error_of_its_own() {
    let told = told(b"http://a.org/\n\xff\xfe\nhttp://a.org/\xe9\n\x1b]0;x\x07\n\xe2\x80\xae. \nhttp://b.org/");
    assert_eq!(told[0], "1 http://a.org/");
    assert!(told[1].starts_with("seeds.txt:2: not a URL: invalid UTF-8"), "{}", told[1]);
    assert!(told[2].starts_with("seeds.txt:3: not a URL: invalid UTF-8"), "{}", told[2]);
    assert!(told[3].starts_with("seeds.txt:4: ") && told[3].ends_with("\"\\u{1b}]0;x\\u{7}\""), "{}", told[3]);
    assert!(told[4].starts_with("seeds.txt:5: ") && told[4].ends_with("\"\\u{202e}.\""), "{}", told[4]);
    assert_eq!(told[5..], ["6 http://b.org/"]);
}

#[test]
fn a_long_line_is_skipped_and_cut_in_its_error() {
    let canonicalizer = canonicalizer().with_max_bytes(1000);
    let long = "é".repeat(5000);
    let list = format!("http://a.org/{long}\n# {long}\nhttp://a.org/{}\nhttp://b.org/", "x".repeat(988));
    let mut seeds = SeedList::new(list.as_bytes(), "-", &canonicalizer);
    let first = seeds.next().unwrap().unwrap_err().to_string();
    assert_eq!(first, format!("-:1: 10014 bytes long, the limit is 1000: \"http://a.org/{}…\"", "é".repeat(67)));
    let second = seeds.next().unwrap().unwrap_err().to_string();
    assert!(second.starts_with("-:3: 1001 bytes long, the limit is 1000: "), "{second}");
    assert_eq!(seeds.next().unwrap().unwrap().url.wire(), "http://b.org/");
    assert!(seeds.next().is_none());
}

/// A list that stands nowhere: `line(0)`, `line(1)`, ... one after the other.
struct Generated<F> {
    lines: u64,
    next: u64,
    line: F,
    rest: io::Cursor<Vec<u8>>,
}

impl<F: Fn(u64) -> String> Generated<F> {
    fn new(lines: u64, line: F) -> BufReader<Self> {
        BufReader::new(Self { lines, next: 0, line, rest: io::Cursor::default() })
    }
}

impl<F: Fn(u64) -> String> Read for Generated<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(buffer)?;
        if read > 0 || self.next == self.lines {
            return Ok(read);
        }
        self.rest = io::Cursor::new((self.line)(self.next).into_bytes());
        self.next += 1;
        self.rest.read(buffer)
    }
}

#[test]
fn a_million_lines_stream() {
    let list = Generated::new(1_000_000, |line| format!("http://h{}.org/{line}\n", line % 1000));
    let canonicalizer = canonicalizer();
    let mut read = 0;
    for seed in SeedList::new(list, "-", &canonicalizer) {
        let seed = seed.unwrap();
        assert!(seed.url.wire().ends_with(&format!("/{read}")));
        read += 1;
        assert_eq!(seed.line, read);
    }
    assert_eq!(read, 1_000_000);
}

/// 4 GiB in one line: a reader that kept it would need as much.
#[test]
fn an_endless_line_is_not_held() {
    let piece = "x".repeat(1 << 20);
    let list = Generated::new(4097, move |line| if line < 4096 { piece.clone() } else { "\nhttp://a.org/".to_owned() });
    let canonicalizer = canonicalizer();
    let mut seeds = SeedList::new(list, "-", &canonicalizer);
    let error = seeds.next().unwrap().unwrap_err().to_string();
    assert!(error.starts_with("-:1: 4294967297 bytes long, the limit is 8192: "), "{error}");
    assert_eq!(seeds.next().unwrap().unwrap().line, 2);
}

#[test]
fn a_list_that_cannot_be_read_on_ends() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("disk on fire"))
        }
    }
    let reader = BufReader::new((&b"http://a.org/\nhttp"[..]).chain(Broken));
    let canonicalizer = canonicalizer();
    let mut seeds = SeedList::new(reader, "-", &canonicalizer);
    assert!(seeds.next().unwrap().is_ok());
    let error = seeds.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "-:2: cannot read");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "disk on fire");
    assert!(seeds.next().is_none() && seeds.next().is_none());
}
