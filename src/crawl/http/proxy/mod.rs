//! Proxies: HTTP, HTTP over TLS, and SOCKS 5.
//!
//! [`Proxies`] chooses the proxy for each URL: the one that the options name, or one from the environment. Some hosts may have none. A
//! [`Proxy`] connects.
//!
//! | proxy | URL | the request to the proxy |
//! |---|---|---|
//! | HTTP, HTTPS | http | the request, with the whole URL in its first line, on a connection of its own |
//! | HTTP, HTTPS | https | `CONNECT`, and TLS with the host through that |
//! | SOCKS | both | a request for a connection to the host, by name (`socks5h`) or by address (`socks5`) |
//!
//! A connection is closed after one forwarded request. Some proxies, such as tinyproxy, pass everything after the first request on
//! unchanged: a host that did not close its connection would get the request meant for the next host, with our sign-in at the proxy.
//!
//! # Names
//!
//! All proxies but `socks5` resolve host names themselves. This machine then does not know the addresses: politeness by address does not
//! count them, no archive has them, and they are not checked for being private. Names that mean the proxy's own machine are refused, and a
//! crawl that denies networks does not begin. Hosts that are addresses are checked as always.
//!
//! # Failures
//!
//! A proxy that cannot be reached, does not answer, or wants another sign-in has itself failed: [`ProxyFault::Own`]. That counts against no
//! host and uses up none of a page's tries. The crawl gives the lease back and goes on slowly, as it does when this machine is short of a
//! resource. When the proxy has failed for [`FetchOptions::proxy_patience`](crate::crawl::FetchOptions::proxy_patience), or does not take
//! our sign-in, the crawl ends, and can be resumed.
//!
//! If the proxy answers that a host cannot or must not be reached, that is the host's failure. A missing answer may be the fault of either;
//! [`ProxyHealth`](fault::ProxyHealth) decides.
//!
//! # Bounds
//!
//! Connecting to a proxy, its answer and TLS with the host together have the time limit of connecting. An answer has at most 16 KiB, and
//! nothing may follow it: a host does not send anything before it gets a request.

mod address;
mod fault;
#[expect(clippy::module_inception, reason = "the module is named after the type in it")]
mod proxy;
mod tunnel;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use super::access::AccessError;
use super::network::Network;
use super::tls::Tls;
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use address::ProxySignIn;

pub use address::{ProxyAddress, ProxyChoice};
pub(super) use fault::{ProxyError, ProxyFault};
pub(super) use proxy::Proxy;

/// Chooses the proxy for each URL.
#[derive(Debug, Default)]
pub(super) struct Proxies {
    http: Option<Arc<Proxy>>,
    https: Option<Arc<Proxy>>,
    /// From the options, and from the environment.
    bypass: [Bypass; 2],
}

impl Proxies {
    /// Reads the options, and the environment if they say so.
    ///
    /// # Errors
    /// When a text does not name a proxy, or a secret cannot be read.
    pub(super) fn new(options: &FetchOptions, tls: &Tls, lookups: usize) -> Result<Self, AccessError> {
        let of_options = bypass_of(options)?;
        let (http, https, of_environment) = match &options.proxy {
            None => return Ok(Self::default()),
            Some(ProxyChoice::At(address)) => {
                let named = Some((address.clone(), None));
                (named.clone(), named, Bypass::default())
            }
            Some(ProxyChoice::Environment) => {
                let read = EnvironmentProxies::read(|name| std::env::var(name).ok());
                let EnvironmentProxies { http, https, bypass } =
                    read.map_err(|reason| AccessError::of_option("proxy", reason))?;
                (http, https, bypass)
            }
        };
        let sign_in = options.proxy_sign_in.as_ref().map(ProxySignIn::read).transpose();
        let sign_in = sign_in.map_err(|reason| AccessError::of_option("proxy_sign_in", reason))?;
        for (address, _) in [&http, &https].into_iter().flatten() {
            if address.resolves_names() {
                check_networks(options)?;
            }
        }
        let make = |(address, own): NamedProxy| {
            let made = Proxy::new(address, own.or_else(|| sign_in.clone()), options, tls, lookups);
            made.map(Arc::new).map_err(|error| AccessError::of_option("proxy", error.to_string()))
        };
        let is_one = http == https;
        let http = http.map(make).transpose()?;
        let https = if is_one { http.clone() } else { https.map(make).transpose()? };
        Ok(Self { http, https, bypass: [of_options, of_environment] })
    }

    /// Checks the options. Reads no secret and no environment.
    pub(super) fn check(options: &FetchOptions) -> Result<(), AccessError> {
        bypass_of(options)?;
        if let Some(ProxyChoice::At(address)) = &options.proxy
            && address.resolves_names()
        {
            check_networks(options)?;
        }
        Ok(())
    }

    /// The proxy for this URL, if there is one.
    pub(super) fn of(&self, url: &CanonicalUrl) -> Option<&Proxy> {
        let proxy = if url.origin().starts_with("https:") { &self.https } else { &self.http };
        let proxy = proxy.as_deref()?;
        (!self.bypass.iter().any(|bypass| bypass.has(url.host()))).then_some(proxy)
    }

    /// Whether one of them is spoken to over TLS.
    #[cfg(feature = "reqwest")]
    pub(super) fn speak_tls(&self) -> bool {
        [&self.http, &self.https].into_iter().flatten().any(|proxy| proxy.speaks_tls())
    }

    /// Whether one of them has failed for good.
    pub(super) fn are_lost(&self) -> bool {
        [&self.http, &self.https].into_iter().flatten().any(|proxy| proxy.health().is_lost(Instant::now()))
    }
}

fn bypass_of(options: &FetchOptions) -> Result<Bypass, AccessError> {
    let bypass = Bypass::of(options.no_proxy.iter().map(String::as_str));
    bypass.map_err(|reason| AccessError::of_option("no_proxy", reason))
}

/// Denied networks cannot be enforced if a proxy resolves names.
fn check_networks(options: &FetchOptions) -> Result<(), AccessError> {
    if options.deny_networks.is_empty() {
        return Ok(());
    }
    let reason = "the proxy resolves names, so the crawl cannot check their addresses: use a socks5:// proxy, which is given addresses, \
                  or let the proxy deny them";
    Err(AccessError::of_option("deny_networks", reason))
}

/// A proxy that the environment names, and its sign-in, if that is part of its address.
type NamedProxy = (ProxyAddress, Option<ProxySignIn>);

/// The proxies that the environment names, read as by curl.
// Not hyper-util's `client-proxy`: it passes over a variable that names no proxy, and the crawl would show its own address to hosts.
#[derive(Debug, Default)]
struct EnvironmentProxies {
    http: Option<NamedProxy>,
    https: Option<NamedProxy>,
    bypass: Bypass,
}

impl EnvironmentProxies {
    /// Reads the environment through `variable`.
    ///
    /// # Errors
    /// Names the variable that is invalid, and why. Its value is left out, since it may contain a password.
    fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let given = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let first = |names: [&str; 2]| {
            let [lower, upper] = names;
            // A CGI program gets the headers of its request as `HTTP_...`, so a header `Proxy` becomes this variable.
            let upper = Some(upper).filter(|name| *name != "HTTP_PROXY" || given("REQUEST_METHOD").is_none());
            [Some(lower), upper].into_iter().flatten().find_map(|name| Some((name.to_owned(), given(name)?)))
        };
        let named = |names| {
            let Some((name, value)) = first(names).or_else(|| first(["all_proxy", "ALL_PROXY"])) else {
                return Ok(None);
            };
            let named = parse(value.trim());
            named
                .map(Some)
                .ok_or_else(|| format!("the environment variable {name} names no proxy, such as http://HOST:PORT"))
        };
        let bypass = match first(["no_proxy", "NO_PROXY"]) {
            Some((name, list)) => Bypass::of(list.split([',', ' ']))
                .map_err(|reason| format!("the environment variable {name}: {reason}"))?,
            None => Bypass::default(),
        };
        let (http, https) = (named(["http_proxy", "HTTP_PROXY"])?, named(["https_proxy", "HTTPS_PROXY"])?);
        Ok(Self { http, https, bypass })
    }
}

/// Reads an address that may have a user and a password, and may lack a scheme.
fn parse(text: &str) -> Option<NamedProxy> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let (userinfo, authority) = match rest.rsplit_once('@') {
        Some((userinfo, authority)) => (Some(userinfo), authority),
        None => (None, rest),
    };
    let sign_in = match userinfo {
        Some(userinfo) => {
            let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
            Some(ProxySignIn::new(unescaped(user)?, unescaped(password)?)?)
        }
        None => None,
    };
    Some((format!("{scheme}://{authority}").parse().ok()?, sign_in))
}

/// Decodes `%` escapes (RFC 3986 section 2.1).
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |digit: Option<u8>| digit.and_then(|digit| char::from(digit).to_digit(16));
        bytes.push(match byte {
            b'%' => u8::try_from(digit(rest.next())? << 4 | digit(rest.next())?).ok()?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Hosts that are reached without a proxy, as curl reads `no_proxy`: `example.org` and `.example.org` mean the host and all its subdomains,
/// `*` means every host, and addresses or blocks of them mean hosts that are addresses.
#[derive(Clone, Debug, Default)]
struct Bypass {
    every: bool,
    /// In lower case, without dots at either end.
    names: Vec<String>,
    networks: Vec<Network>,
}

impl Bypass {
    /// Reads a list, or says which entry is not a host.
    fn of<'a>(list: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut bypass = Self::default();
        for text in list.into_iter().map(str::trim).filter(|text| !text.is_empty()) {
            if text == "*" {
                bypass.every = true;
            } else if let Ok(network) = text.trim_matches(['[', ']']).parse() {
                bypass.networks.push(network);
            } else {
                let name = text.strip_prefix('*').unwrap_or(text).trim_matches('.').to_ascii_lowercase();
                if name.is_empty() || name.contains([':', '/', '@', '*', ' ', '[', ']']) {
                    return Err(format!("{text:?} is not a host, domain, address or block of addresses"));
                }
                bypass.names.push(name);
            }
        }
        Ok(bypass)
    }

    /// Whether this host is reached without a proxy. O(entries).
    fn has(&self, host: &str) -> bool {
        if self.every {
            return true;
        }
        if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
            return self.networks.iter().any(|network| network.contains(address));
        }
        let host = host.strip_suffix('.').unwrap_or(host);
        self.names.iter().any(|name| {
            let above = host.strip_suffix(name.as_str());
            above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<EnvironmentProxies, String> {
        let find = |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
        EnvironmentProxies::read(find)
    }

    /// The proxies for http and for https.
    fn named(variables: &[(&str, &str)]) -> [String; 2] {
        let proxies = read(variables).unwrap();
        [proxies.http, proxies.https]
            .map(|named| named.map_or_else(|| "-".to_owned(), |(address, _)| address.to_string()))
    }

    #[test]
    fn they_are_taken_as_curl_takes_them() {
        assert_eq!(named(&[]), ["-", "-"]);
        assert_eq!(named(&[("http_proxy", "p:3128"), ("HTTP_PROXY", "http://q:1")]), ["http://p:3128", "-"]);
        assert_eq!(named(&[("HTTP_PROXY", "http://q:1"), ("https_proxy", "")]), ["http://q:1", "-"]);
        assert_eq!(named(&[("HTTP_PROXY", "http://q:1"), ("REQUEST_METHOD", "GET")]), ["-", "-"]);
        assert_eq!(named(&[("http_proxy", "http://q:1"), ("REQUEST_METHOD", "GET")]), ["http://q:1", "-"]);
        let all = [("ALL_PROXY", "socks5://s"), ("HTTPS_PROXY", "https://t/")];
        assert_eq!(named(&all), ["socks5://s:1080", "https://t:443"]);
        let bypass = read(&[("NO_PROXY", "a.test, .b.test  c.test")]).unwrap().bypass;
        assert!(["a.test", "x.b.test", "c.test"].iter().all(|host| bypass.has(host)) && !bypass.has("d.test"));
    }

    #[test]
    fn a_sign_in_is_read_and_an_error_does_not_have_it() {
        let (address, sign_in) = read(&[("http_proxy", "http://ann:p%40ss:w@p:1")]).unwrap().http.unwrap();
        assert_eq!(address.to_string(), "http://p:1");
        assert_eq!(sign_in, ProxySignIn::new("ann".to_owned(), "p@ss:w".to_owned()));
        for bad in ["http://ann:hunter2@", "ftp://ann:hunter2@p", "ann:hunter2%zz@p", "ann:hunter2@p:x"] {
            let error = read(&[("https_proxy", bad)]).unwrap_err();
            assert!(error.contains("https_proxy") && !error.contains("hunter2"), "{error}");
        }
        assert!(read(&[("no_proxy", "http://x")]).is_err());
    }

    #[test]
    fn a_name_stands_for_what_is_below_it_too() {
        let bypass = Bypass::of(["a.test", ".B.test", "*.c.test.", " 10.0.0.0/8", "::1", ""]).unwrap();
        for host in ["a.test", "x.a.test", "b.test", "x.b.test", "c.test", "a.test.", "10.1.2.3", "[::1]"] {
            assert!(bypass.has(host), "{host}");
        }
        for host in ["xa.test", "test", "a.test.x", "11.0.0.1", "[::2]", "x10.0.0.1.test"] {
            assert!(!bypass.has(host), "{host}");
        }
        assert!(Bypass::of(["*"]).unwrap().has("any.test"));
        assert!(!Bypass::default().has("any.test"));
        for text in ["http://a.test", "a.test:80", "a b", ".", "a@b"] {
            assert!(Bypass::of([text]).is_err(), "{text}");
        }
    }
}
