//! Cookies: what servers set, and what they get back.
//!
//! A crawl has one jar, or none if the options ask for no cookies. A response's `Set-Cookie` headers are taken as soon as its head is
//! there, whatever its status; a request has the cookies at the time that it is made. By RFC 6265, with public suffixes and the additions
//! of its successor: names that begin with `__Host-` and `__Secure-`, and `Secure` for https alone.
//!
//! A crawl in a job writes its jar to the job's `cookies.txt`, which only its owner can read, before each checkpoint if anything has
//! changed. A kill loses the cookies set since then: the server sets them again, or the page is fetched without them. Session cookies are
//! kept, since the crawl is one session.
//!
//! Cookies are secrets. No other file of the job has them: the header is marked as sensitive, and archives have `(not kept)`.

mod cookie;
mod cookie_date;
mod cookies_txt;
mod jar;

pub(super) use jar::CookieJar;
