//! The cookie jar: it stores the cookies that servers set, and adds them to later requests.
//!
//! A crawl has one jar, or none if the options ask for no cookies. A response's `Set-Cookie` headers are stored as soon as its head is
//! there, whatever its status. A request gets the cookies that are in the jar when the request is made. The jar follows RFC 6265, with
//! public suffixes, and these rules of RFC 6265bis: the prefixes `__Host-` and `__Secure-`, and `Secure` only over https.
//!
//! A crawl in a job writes its jar to the job's `cookies.txt`, which only its owner can read, before each checkpoint if anything has
//! changed. A kill loses the cookies set since then: the server sets them again, or the page is fetched without them. Session cookies are
//! kept, since the crawl is one session.
//!
//! Cookies are secrets. No other file of the job has them: the header is marked as sensitive, and archives have `(not kept)` in its place.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fmt, io};

use ahash::AHashMap;
use http::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE};

use super::cookie::{Cookie, as_bytes, as_latin1, read_cookies_txt, write_cookies_txt};
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::lock::lock;
use crate::driver::suffixes;

/// The most cookies of a domain: as many as RFC 6265 section 6.1 asks for. Beyond that, an expired cookie is dropped, or else the oldest.
const PER_DOMAIN: usize = 50;
/// The most bytes of all cookies. Beyond that, the least recently used domain is dropped.
const MOST_BYTES: usize = 16 << 20;
/// The most bytes of cookies in one request. Servers refuse longer heads.
const MOST_SENT: usize = 16 << 10;

/// The cookies of a crawl (RFC 6265).
// Not `cookie_store`: it looks through all domains of the jar for each request, sends cookies in no order (section 5.4), and knows no prefix.
#[derive(Default)]
pub(in crate::crawl) struct CookieJar(Mutex<Cookies>);

#[derive(Default)]
struct Cookies {
    by_domain: AHashMap<Box<str>, Domain>,
    /// Domains by their last use.
    by_use: BTreeMap<u64, Box<str>>,
    /// The number of the next use.
    uses: u64,
    bytes: usize,
    /// The number of cookies ever created.
    created: u64,
    /// The number of changes so far; `saved` is its value at the last write.
    changes: u64,
    saved: u64,
}

/// A domain's cookies, in the order of their creation.
#[derive(Default)]
struct Domain {
    cookies: Vec<Cookie>,
    last_use: u64,
}

impl CookieJar {
    /// A jar with the cookies of the files that the options name; `None` if the options ask for no cookies.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(super) fn of(options: &FetchOptions) -> Result<Option<Arc<Self>>, String> {
        if !options.cookies && options.load_cookies.is_empty() {
            return Ok(None);
        }
        let jar = Self::default();
        options.load_cookies.iter().try_for_each(|path| jar.load(path))?;
        Ok(Some(Arc::new(jar)))
    }

    /// Takes the cookies that a response sets. Returns whether anything has changed.
    pub(super) fn take(&self, headers: &HeaderMap, url: &CanonicalUrl) -> bool {
        let mut is_changed = false;
        for value in headers.get_all(SET_COOKIE) {
            let now = now();
            let cookie = Cookie::parse(&as_latin1(value.as_bytes()), url, now);
            if let Some(cookie) = cookie {
                is_changed |= lock(&self.0).put(cookie, url.origin().starts_with("https:"), now);
            }
        }
        is_changed
    }

    /// Adds to a request the cookies for its URL.
    pub(super) fn add_to(&self, headers: &mut HeaderMap, url: &CanonicalUrl) {
        let text = lock(&self.0).of(url, now());
        if let Some(mut value) = HeaderValue::from_bytes(&as_bytes(&text)).ok().filter(|_| !text.is_empty()) {
            value.set_sensitive(true);
            headers.insert(COOKIE, value);
        }
    }

    /// Adds the cookies of a file.
    ///
    /// # Errors
    /// When the file cannot be read, or a line is not a cookie. The message quotes none of the line.
    pub(in crate::crawl) fn load(&self, path: &Path) -> Result<(), String> {
        let (read, now) = (read_cookies_txt(path)?, now());
        let mut cookies = lock(&self.0);
        for cookie in read {
            cookies.put(cookie, true, now);
        }
        Ok(())
    }

    /// Passes all cookies in file format to `write`, unless none have changed since the last time. If `write` fails, they are written next
    /// time.
    ///
    /// # Errors
    /// As `write`.
    pub(in crate::crawl) fn save(&self, write: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let (text, changes) = {
            let (cookies, now) = (lock(&self.0), now());
            if cookies.changes == cookies.saved {
                return Ok(());
            }
            let all = cookies.by_domain.values().flat_map(|domain| &domain.cookies);
            (write_cookies_txt(all.filter(|cookie| !cookie.is_expired(now))), cookies.changes)
        };
        // Unlocked, so that the crawl can take cookies while the disk writes.
        write(&text)?;
        lock(&self.0).saved = changes;
        Ok(())
    }
}

impl Cookies {
    /// Stores a cookie, or removes the one that it replaces if it has expired. Returns whether anything has changed.
    fn put(&mut self, mut cookie: Cookie, is_https: bool, now: i64) -> bool {
        let known = self.by_domain.get_mut(&cookie.domain);
        let at = known.as_ref().and_then(|domain| domain.cookies.iter().position(|other| cookie.replaces(other)));
        if let (Some(domain), Some(at)) = (known, at) {
            let there = &mut domain.cookies[at];
            cookie.created = there.created;
            // A server on http cannot replace a secure cookie.
            if *there == cookie || there.is_secure && !is_https {
                return false;
            }
            self.bytes -= there.bytes();
            if cookie.is_expired(now) {
                domain.cookies.remove(at);
            } else {
                self.bytes += cookie.bytes();
                *there = cookie;
            }
            self.changes += 1;
            return true;
        }
        if cookie.is_expired(now) {
            return false;
        }
        self.created += 1;
        cookie.created = self.created;
        self.touch(&cookie.domain.clone());
        self.bytes += cookie.bytes();
        let Some(domain) = self.by_domain.get_mut(&cookie.domain) else { return false };
        domain.cookies.push(cookie);
        if domain.cookies.len() > PER_DOMAIN {
            let oldest = domain.cookies.iter().position(|cookie| cookie.is_expired(now)).unwrap_or(0);
            self.bytes -= domain.cookies.remove(oldest).bytes();
        }
        while self.bytes > MOST_BYTES
            && let Some((_, name)) = self.by_use.pop_first()
        {
            let gone = self.by_domain.remove(&name).unwrap_or_default();
            self.bytes -= gone.cookies.iter().map(Cookie::bytes).sum::<usize>();
        }
        self.changes += 1;
        true
    }

    /// Marks a domain as used now.
    fn touch(&mut self, name: &str) {
        let domain = self.by_domain.entry(name.into()).or_default();
        let name = self.by_use.remove(&domain.last_use).filter(|of| **of == *name).unwrap_or_else(|| name.into());
        self.uses += 1;
        domain.last_use = self.uses;
        self.by_use.insert(self.uses, name);
    }

    /// The `Cookie` header of a request for this URL (RFC 6265 section 5.4).
    fn of(&mut self, url: &CanonicalUrl, now: i64) -> String {
        if self.by_domain.is_empty() {
            return String::new();
        }
        let domains: Vec<&str> = suffixes(url.host()).filter(|name| self.by_domain.contains_key(*name)).collect();
        for domain in &domains {
            self.touch(domain);
        }
        let all = domains.iter().filter_map(|name| self.by_domain.get(*name)).flat_map(|domain| &domain.cookies);
        let mut sent: Vec<&Cookie> = all.filter(|cookie| cookie.is_for(url) && !cookie.is_expired(now)).collect();
        // Longer paths come first; at equal length, the cookie created first.
        sent.sort_unstable_by_key(|cookie| (std::cmp::Reverse(cookie.path.len()), cookie.created));
        let mut text = String::new();
        for Cookie { name, value, .. } in sent {
            if text.len() + name.len() + value.len() + 3 > MOST_SENT {
                break;
            }
            text.extend([if text.is_empty() { "" } else { "; " }, name, "=", value]);
        }
        text
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Shows none of its cookies.
impl fmt::Debug for CookieJar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CookieJar").field("domains", &lock(&self.0).by_domain.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Canonicalizer, KeyRules};

    const NOW: i64 = 1_000_000_000;

    fn url(text: &str) -> CanonicalUrl {
        Canonicalizer::new(&KeyRules::default()).canonicalize(text).unwrap()
    }

    /// A jar with these cookies, each set by a URL.
    fn jar(set: &[(&str, &str)]) -> Cookies {
        let mut cookies = Cookies::default();
        for (from, header) in set {
            if let Some(cookie) = Cookie::parse(header, &url(from), NOW) {
                cookies.put(cookie, from.starts_with("https:"), NOW);
            }
        }
        cookies
    }

    #[test]
    fn a_cookie_is_sent_where_it_belongs() {
        let site = "https://www.shop.example/a/b?c=/d";
        for (set, to, sent) in [
            // Only the host, and the page's folder.
            ("n=v", "https://www.shop.example/a/", "n=v"),
            ("n=v", "https://www.shop.example/a", "n=v"),
            ("n=v", "https://www.shop.example/ab", ""),
            ("n=v", "https://www.shop.example/", ""),
            ("n=v; path=/", "https://shop.example/", ""),
            ("n=v; path=/", "https://x.www.shop.example/", ""),
            // Without Secure, http gets it too; ports do not count (RFC 6265 section 8.5).
            ("n=v; path=/", "http://www.shop.example:8080/", "n=v"),
            ("n=v; path=/; SECURE", "http://www.shop.example/", ""),
            ("n=v; path=/; secure=no", "https://www.shop.example/", "n=v"),
            // A domain and all its subdomains; no parent, sibling or public suffix.
            ("n=v; path=/; domain=shop.example", "https://shop.example/", "n=v"),
            ("n=v; path=/; Domain=.SHOP.example", "https://a.b.shop.example/", "n=v"),
            ("n=v; path=/; domain=shop.example", "https://othershop.example/", ""),
            ("n=v; path=/; domain=example", "https://www.shop.example/", ""),
            ("n=v; path=/; domain=other.example", "https://www.shop.example/", ""),
            ("n=v; path=/; domain=x.www.shop.example", "https://www.shop.example/", ""),
            ("n=v; path=/; domain=", "https://www.shop.example/", "n=v"),
            ("n=v; path=/; domain=other.example; domain=shop.example", "https://shop.example/", "n=v"),
            // Paths.
            ("n=v; path=/a/b", "https://www.shop.example/a/b/c", "n=v"),
            ("n=v; path=/a/b", "https://www.shop.example/a/bc", ""),
            ("n=v; path=/a/b", "https://www.shop.example/a/b?/", "n=v"),
            ("n=v; path=a", "https://www.shop.example/a/x", "n=v"),
            // Time.
            ("n=v; path=/; max-age=5", "https://www.shop.example/", "n=v"),
            ("n=v; path=/; max-age=0", "https://www.shop.example/", ""),
            ("n=v; path=/; max-age=-5", "https://www.shop.example/", ""),
            ("n=v; path=/; max-age=99999999999999999999", "https://www.shop.example/", "n=v"),
            ("n=v; path=/; max-age=5; expires=Thu, 01 Jan 1970 00:00:00 GMT", "https://www.shop.example/", "n=v"),
            ("n=v; path=/; expires=Thu, 01 Jan 1970 00:00:00 GMT", "https://www.shop.example/", ""),
            ("n=v; path=/; expires=nonsense", "https://www.shop.example/", "n=v"),
            ("n=v; path=/; max-age=x5", "https://www.shop.example/", "n=v"),
            // Names and values.
            ("n = v w ; path=/", "https://www.shop.example/", "n=v w"),
            ("n=\"v\"; path=/", "https://www.shop.example/", "n=\"v\""),
            ("n=a=b; path=/", "https://www.shop.example/", "n=a=b"),
            ("n=; path=/", "https://www.shop.example/", "n="),
            ("=v; path=/", "https://www.shop.example/", ""),
            ("n; path=/", "https://www.shop.example/", ""),
            ("n=v\u{7f}; path=/", "https://www.shop.example/", ""),
            // Names with a special prefix.
            ("__Host-n=v; path=/; secure", "https://www.shop.example/", "__Host-n=v"),
            ("__Host-n=v; path=/", "https://www.shop.example/", ""),
            ("__Host-n=v; secure", "https://www.shop.example/a/", ""),
            ("__host-n=v; path=/; secure; domain=shop.example", "https://shop.example/", ""),
            ("__Secure-n=v; path=/; secure", "https://www.shop.example/", "__Secure-n=v"),
            ("__Secure-n=v; path=/", "https://www.shop.example/", ""),
        ] {
            assert_eq!(jar(&[(site, set)]).of(&url(to), NOW), sent, "{set} to {to}");
        }
    }

    #[test]
    fn a_host_sets_cookies_for_itself_and_its_domains() {
        for (set, to, sent) in [
            // Public suffixes: of a registry, and of a company.
            (&[("https://a.co.uk/", "n=v; domain=co.uk")][..], "https://b.co.uk/", ""),
            (&[("https://a.github.io/", "n=v; domain=github.io")], "https://b.github.io/", ""),
            // A host that is itself a public suffix has its own cookies.
            (&[("https://github.io/", "n=v; domain=github.io")], "https://github.io/", "n=v"),
            (&[("https://github.io/", "n=v; domain=github.io")], "https://a.github.io/", ""),
            // Addresses have no domains.
            (&[("http://127.0.0.1/", "n=v; domain=0.0.1")], "http://127.0.0.1/", ""),
            (&[("http://127.0.0.1/", "n=v; domain=127.0.0.1")], "http://127.0.0.1/", "n=v"),
            (&[("http://[::1]/", "n=v")], "http://[::1]/", "n=v"),
            // Over http, a secure cookie can be neither set nor replaced.
            (&[("http://a.example/", "n=v; secure")], "https://a.example/", ""),
            (&[("https://a.example/", "n=v; secure"), ("http://a.example/", "n=w")], "https://a.example/", "n=v"),
            // The last one counts, in the old one's position; a longer path goes first.
            (
                &[("http://a.example/", "a=1"), ("http://a.example/", "b=1"), ("http://a.example/", "a=2")],
                "http://a.example/",
                "a=2; b=1",
            ),
            (
                &[("http://a.example/x/", "a=1; path=/"), ("http://a.example/x/", "b=1")],
                "http://a.example/x/",
                "b=1; a=1",
            ),
            // At equal paths, the older one first, whatever its domain.
            (
                &[("http://x.a.example/", "a=1; domain=a.example"), ("http://x.a.example/", "b=1")],
                "http://x.a.example/",
                "a=1; b=1",
            ),
            (
                &[("http://x.a.example/", "a=1"), ("http://x.a.example/", "b=1; domain=a.example")],
                "http://x.a.example/",
                "a=1; b=1",
            ),
            (&[("http://a.example/", "a=1"), ("http://a.example/", "a=; max-age=0")], "http://a.example/", ""),
        ] {
            assert_eq!(jar(set).of(&url(to), NOW), sent, "{set:?} to {to}");
        }
        let mut jar = jar(&[("http://a.example/", "n=v; max-age=10")]);
        assert_eq!(jar.of(&url("http://a.example/"), NOW + 9), "n=v");
        assert_eq!(jar.of(&url("http://a.example/"), NOW + 10), "");
    }

    #[test]
    fn bytes_beyond_ascii_come_back_as_they_were_set() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cookies.txt");
        let to = url("http://a.example/");
        for value in ["n=caf\u{e9} \u{e0}".as_bytes(), b"n=caf\xe9 \xa0", b"n\x85\xff=\x80"] {
            let mut headers = HeaderMap::new();
            headers.insert(SET_COOKIE, HeaderValue::from_bytes(value).unwrap());
            let jar = CookieJar::default();
            assert!(jar.take(&headers, &to));
            // A byte order mark is not part of the content.
            jar.save(|text| std::fs::write(&path, [b"\xef\xbb\xbf", text].concat())).unwrap();
            let again = CookieJar::default();
            again.load(&path).unwrap();
            for jar in [&jar, &again] {
                let mut request = HeaderMap::new();
                jar.add_to(&mut request, &to);
                assert_eq!(request[COOKIE].as_bytes(), value, "{}", value.escape_ascii());
            }
        }
        std::fs::write(&path, "\u{feff}a.example\tFALSE\t/\tFALSE\t0\tn\tv\n").unwrap();
        let jar = CookieJar::default();
        jar.load(&path).unwrap();
        assert_eq!(lock(&jar.0).of(&to, NOW), "n=v");
    }

    #[test]
    fn a_jar_is_bounded() {
        let mut cookies = Cookies::default();
        let put = |cookies: &mut Cookies, host: &str, header: &str| {
            let from = url(&format!("http://{host}/"));
            cookies.put(Cookie::parse(header, &from, NOW).unwrap(), false, NOW)
        };
        for number in 0..70 {
            assert!(put(&mut cookies, "a.example", &format!("n{number}=v")));
        }
        let sent = cookies.of(&url("http://a.example/"), NOW);
        assert_eq!((sent.split("; ").count(), &sent[..5]), (50, "n20=v"));
        let long = "x".repeat(4000);
        for host in 0..6000 {
            put(&mut cookies, &format!("h{host}.example"), &format!("n={long}"));
            cookies.of(&url("http://a.example/"), NOW);
        }
        assert!(cookies.bytes <= MOST_BYTES && cookies.bytes > MOST_BYTES / 2, "{}", cookies.bytes);
        assert_eq!(cookies.by_use.len(), cookies.by_domain.len());
        let all = cookies.by_domain.values().flat_map(|domain| &domain.cookies);
        assert_eq!(all.map(Cookie::bytes).sum::<usize>(), cookies.bytes);
        assert_eq!(cookies.of(&url("http://h0.example/"), NOW), "", "it was used longest ago");
        assert!(
            cookies.of(&url("http://a.example/"), NOW).starts_with("n20=v")
                && !cookies.of(&url("http://h5999.example/"), NOW).is_empty()
        );
        for number in 0..50 {
            put(&mut cookies, "b.example", &format!("n{number}={long}"));
        }
        assert!(cookies.of(&url("http://b.example/"), NOW).len() <= MOST_SENT);
        assert!(Cookie::parse(&format!("n={}", "x".repeat(4096)), &url("http://a.example/"), NOW).is_none());
    }

    #[test]
    fn a_file_has_what_the_jar_has() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cookies.txt");
        let text = "# Netscape HTTP Cookie File\r\n\r\n.a.example\tTRUE\t/\tFALSE\t0\tsession\tone\n\
            #HttpOnly_a.example\tFALSE\t/x\tTRUE\t9999999999\tkey\ttwo words\n\
            a.example\tFALSE\t/\tFALSE\t1\told\tthree\n.co.uk\tTRUE\t/\tFALSE\t0\tsuper\tfour\na.example\tFALSE\t/\tFALSE\t0\tempty\n";
        std::fs::write(&path, text).unwrap();
        let jar = CookieJar::default();
        jar.load(&path).unwrap();
        let sent = |jar: &CookieJar, to: &str| lock(&jar.0).of(&url(to), now());
        let again = CookieJar::default();
        let failed = jar.save(|_| Err(io::ErrorKind::StorageFull.into()));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        jar.save(|text| std::fs::write(&path, text)).unwrap();
        again.load(&path).unwrap();
        jar.save(|_| panic!("nothing has changed since")).unwrap();
        for (to, cookies) in [
            ("https://a.example/x", "key=two words; empty=; session=one"),
            ("http://a.example/x", "empty=; session=one"),
            ("http://b.a.example/", "session=one"),
            ("http://b.co.uk/", ""),
        ] {
            for jar in [&jar, &again] {
                let mut is = sent(jar, to).split("; ").map(str::to_owned).collect::<Vec<_>>();
                let mut should = cookies.split("; ").map(str::to_owned).collect::<Vec<_>>();
                is.sort();
                should.sort();
                assert_eq!(is, should, "{to}");
            }
        }
        for (wrong, reason) in [
            ("a.example\tFALSE\t/\tFALSE\t0\n", "not seven fields with tabs between them"),
            ("a\tFALSE\tx\tFALSE\t0\tn\thunter2\n", "the third field is not a path: a path begins with /"),
            ("a\tFALSE\t/\tFALSE\tnever\tn\thunter2\n", "the fifth field is not a time in seconds"),
            (".\tFALSE\t/\tFALSE\t0\tn\thunter2\n", "the first field has no domain"),
            ("a\tFALSE\t/\tFALSE\t0\t\thunter2\n", "the sixth field has no name"),
        ] {
            std::fs::write(&path, format!("# one\n{wrong}")).unwrap();
            let error = jar.load(&path).unwrap_err();
            assert!(error.ends_with(&format!("cookies.txt:2: {reason}")) && !error.contains("hunter2"), "{error}");
        }
    }
}
