//! URLs: their wire form, key, host and fingerprint, and lists of them.
//!
//! A page spells a URL as it likes, and that spelling is requested: the *wire* form. Which spellings are one URL is decided by the *key*:
//! one spelling that stands for all of them. The URL-seen test looks at nothing else.
//!
//! ```text
//!  text ─▶ whatwg: parsed ─▶ wire form ─▶ key: rules ─▶ key ─▶ fingerprint: 64 keyed bits
//!                            what is sent  (KeyRules)    └───▶ host key: scheme, host, port
//! ```
//!
//! ```
//! use crawler_frontier::address::{Canonicalizer, KeyRules};
//!
//! let canonicalizer = Canonicalizer::new(&KeyRules::default());
//! let url = canonicalizer.canonicalize("HTTP://Example.org.:80/%7eann/?b=2&utm_source=mail&a=1#top")?;
//! assert_eq!(url.wire(), "http://example.org./%7eann/?b=2&utm_source=mail&a=1");
//! assert_eq!(url.key(), "http://example.org/~ann/?a=1&b=2");
//!
//! let base = canonicalizer.base(url.wire())?;
//! assert_eq!(canonicalizer.join(&base, "../img/")?.key(), "http://example.org/img/");
//! # Ok::<(), crawler_frontier::address::AddressError>(())
//! ```
//!
//! # The rules
//!
//! They apply in this order. Two groups are always on: the steps of [WHATWG parsing](https://url.spec.whatwg.org/), which leaves no choice,
//! and the rules that the wire URL, the unit of politeness and robots.txt depend on.
//!
//! | rule | switch in [`KeyRules`] | example | becomes |
//! |---|---|---|---|
//! | surrounding blanks, inner tabs and line ends off | always on (parsing) | `␠http://a.org/x␊y` | `http://a.org/xy` |
//! | scheme and host in lower case | always on (parsing) | `HTTP://A.org/B` | `http://a.org/B` |
//! | host by UTS 46 to punycode, IPv4 and IPv6 to one form | always on (parsing) | `http://bücher.de/`, `http://0x7f.1/` | `http://xn--bcher-kva.de/`, `http://127.0.0.1/` |
//! | an ASCII host is unchanged, even if its punycode is invalid | always on (parsing) | `http://XN--a.org/` | `http://xn--a.org/` |
//! | default port off | always on (parsing) | `https://a.org:443/` | `https://a.org/` |
//! | empty path to `/`, backslashes to slashes | always on (parsing) | `http://a.org`, `http:\\a.org\b` | `http://a.org/`, `http://a.org/b` |
//! | dot segments resolved | always on (parsing) | `http://a.org/b/./%2E./c` | `http://a.org/c` |
//! | characters that no URL may hold, escaped as UTF-8; in a link's query, in its page's encoding | always on (parsing) | `http://a.org/é x` | `http://a.org/%C3%A9%20x` |
//! | fragment off | always on (never sent) | `http://a.org/b#c` | `http://a.org/b` |
//! | user and password off | always on (never sent) | `http://ann:pw@a.org/` | `http://a.org/` |
//! | one trailing dot of the host off | always on (one server, one unit of politeness) | `http://a.org./` | `http://a.org/` |
//! | escapes in upper case; letters, digits, `-._~` unescaped, nothing else, once (RFC 3986 section 6.2.2) | `normalize_escapes` | `/%7eb%2fc%2541` | `/~b%2Fc%2541` |
//! | escapes of `[ ] { } \| \ ^` and the backtick off where browsers send these bare: in a query all, in a path `[ ] \|` | `unescape_brackets` | `?f%5Ba%5D=1` | `?f[a]=1` |
//! | `;jsessionid=` off each path segment | `drop_sessions` | `/b;jsessionid=1F?c` | `/b?c` |
//! | slashes in a row to one | `collapse_slashes`, off by default | `/b//c` | `/b/c` |
//! | [tracking parameters](KeyRules::TRACKING_PARAMETERS) off | `drop_tracking` | `?utm_source=x&id=1` | `?id=1` |
//! | [session parameters](KeyRules::SESSION_PARAMETERS) off | `drop_sessions` | `?PHPSESSID=9&id=1` | `?id=1` |
//! | parameters of your own list off | `drop_parameters` | `?ref=x&id=1` | `?id=1` |
//! | an empty query off, and empty parameters | `drop_empty_query` | `/b?`, `?&id=1&` | `/b`, `?id=1` |
//! | parameters by name, then value, bytewise; blank values and repeated parameters stay | `sort_query` | `?b=2&a=&b=1` | `?a=&b=1&b=2` |
//!
//! The rules before the trailing dot make the wire form; all of them make the key. No rule makes the path or the query lower case, adds or
//! removes a slash at the end, drops `index.html`, treats `+` and `%20` as one, or decodes an escape twice. Each of those would join pages
//! that servers keep apart, and a page that shares its key with another is never fetched.
//!
//! Other normalizers go further. Where crawler-commons' `BasicURLNormalizer` does, and why the keys here do not:
//!
//! | in the text | there | here | because |
//! |---|---|---|---|
//! | a `%` that begins no escape, `/90%+x`, `/p%zz` | `%25` | stays | parsing leaves it, so servers are asked with it, and some tell it from `%25` |
//! | a value without a name, `?=1&a=2` | left out | stays | it is no empty parameter: a server may read it |
//! | a name without a value, `?a=` | `?a` | stays | servers tell the two apart (PHP alone does not) |
//! | no scheme, `a.org/x` | `http://` | an error; in a list of [seeds](crate::driver::SeedList), `https://` | in a link it is a path |
//! | too few slashes or backslashes, `http:a.org/x`, `http:\\a.org` | an error | `http://a.org/x` | parsing mends them, as browsers do |
//! | `[ ] \| ^` and the backtick in a query | escaped | bare | browsers send them bare |
//! | slashes in a row | one | stay, unless `collapse_slashes` is on | some servers tell them apart |
//! | a session in a segment of its own, `/(S(x1y2))/a` | off | stays | the page without it may be another; a budget for sessions bounds it (`traps.session_budget`) |
//!
//! A key is its own canonical form: canonicalizing it gives the same text, as wire form and as key.

pub(crate) mod authority;
mod canonicalizer;
mod fingerprint;
pub(crate) mod host_table;
mod identity;
mod key;
pub(crate) mod lists;
mod masks;
mod parameters;
pub(crate) mod whatwg;
mod wire;

pub use authority::{HostKey, QueueError};
pub(crate) use authority::{host_of, origin_of, path_and_query};
pub use canonicalizer::{CanonicalUrl, Canonicalizer};
pub use fingerprint::{Fingerprint, FingerprintKey};
pub(crate) use host_table::{HostPattern, HostTable};
pub use identity::{Identity, IdentityBuf, IdentityError};
pub use key::KeyRules;
pub(crate) use lists::TextLines;
pub use whatwg::{AddressError, BaseUrl};
