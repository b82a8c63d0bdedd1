//! Cookies: what servers set, and what they get back.
//!
//! There is one jar for a crawl, and none where nobody asked for one. A response's `Set-Cookie` headers are taken as soon as its head is
//! there, whatever its status; a request has the cookies of the moment at which it is made. By RFC 6265, with the public suffixes, and
//! with what its successor adds: names that begin with `__Host-` and `__Secure-`, and `Secure` for https alone.
//!
//! A crawl in a job writes its jar to the job's `cookies.txt` before each checkpoint, if anything has changed, in a file that only its owner
//! can read. A kill loses what was set since then: the server sets it again, or the page is fetched without. Session cookies
//! are kept, since the crawl is one session.
//!
//! Cookies are secrets. They are in no other file of the job: the header is marked as sensitive, and archives have `(not kept)`.

mod cookie;
mod cookie_date;
mod cookies_txt;
mod jar;

pub(super) use jar::CookieJar;
