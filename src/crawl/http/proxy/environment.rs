//! The proxies that the environment names.

use super::address::ProxyAddress;
use super::bypass::Bypass;
use super::sign_in::ProxySignIn;

/// A proxy that the environment names, and its sign-in, if that is part of its address.
pub(super) type NamedProxy = (ProxyAddress, Option<ProxySignIn>);

/// The proxies that the environment names, read as by curl.
#[derive(Debug, Default)]
pub(super) struct EnvironmentProxies {
    pub(super) http: Option<NamedProxy>,
    pub(super) https: Option<NamedProxy>,
    pub(super) bypass: Bypass,
}

impl EnvironmentProxies {
    /// Reads the environment through `variable`.
    ///
    /// # Errors
    /// Names the variable that is invalid, and why. Its value is left out, since it may contain a password.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
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
}
