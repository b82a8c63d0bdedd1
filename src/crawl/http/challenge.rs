//! Challenges. A front end, such as a CDN or a bot filter, sends one in place of the page if it takes the visitor for a robot. A challenge
//! is recognized by a header or, if no header tells, by the beginning of its body: the title, some bytes, or both.
//!
//! An ordinary page may quote such bytes. So bytes alone count only with a status by which front ends refuse, and in a 200 or 202 with an
//! empty title, or with a script and no title.

use std::borrow::Cow;

use http::header::HeaderMap;
use memchr::memchr_iter;
use memchr::memmem::find;

/// At most this many bytes of a body are examined. The same number is kept of a body that is not read.
pub(super) const READ: usize = 4096;

/// Statuses by which front ends refuse.
const REFUSED: [u16; 9] = [401, 403, 405, 406, 418, 428, 429, 451, 503];

/// Headers that mark a challenge: the front end, the header's name, its values (none: any value), and whether it counts with any status. If
/// not, it counts only with a status of [`REFUSED`].
const HEADERS: [(&str, &str, &[&str], bool); 6] = [
    ("aws", "x-amzn-waf-action", &["captcha", "challenge"], true),
    ("cloudflare", "cf-mitigated", &["challenge"], true),
    ("datadome", "x-dd-b", &[], false),
    ("kasada", "x-kpsdk-ct", &[], false),
    ("siteground", "sg-captcha", &["challenge"], true),
    ("vercel", "x-vercel-mitigated", &["challenge", "deny"], true),
];

/// Bodies of challenges: the front end, the beginning of the title, bytes in the body, and whether it also counts with a 200 or 202. An
/// empty text fits every body.
const BODIES: [(&str, &str, &str, bool); 29] = [
    ("akamai", "Access Denied", "edgesuite", false),
    ("akamai", "", "bm-verify=", true),
    ("akamai", "", "sec-cp-challenge", true),
    ("akamai", "", "sec-if-cpt", true),
    ("anubis", "Making sure you're not a bot!", "anubis", true),
    ("anubis", "", "anubis_challenge", false),
    ("aws", "ERROR: The request could not be satisfied", "Request blocked.", false),
    ("aws", "", "window.gokuProps", true),
    ("cloudflare", "Attention Required! | Cloudflare", "", false),
    ("cloudflare", "Just a moment...", "", false),
    ("cloudflare", "", "cf-error-details", false),
    ("cloudflare", "", "error code: 1010", false),
    ("cloudflare", "", "error code: 1015", false),
    ("cloudflare", "", "error code: 1020", false),
    ("datadome", "", "captcha-delivery.com", true),
    ("ddos-guard", "DDoS-Guard", "", false),
    ("f5", "Request Rejected", "support ID is", true),
    ("f5", "", "bobcmn", true),
    ("f5", "", "istlWasHere", true),
    ("fastly", "Client Challenge", "/_fs-ch-", true),
    ("go-away", "Checking you are not a bot", "go-away/cmd/go-away", true),
    ("go-away", "", "go-away/cmd/go-away", false),
    ("human", "Access to this page has been denied", "", false),
    ("human", "", "_pxAppId", false),
    ("imperva", "Pardon Our Interruption", "", true),
    ("imperva", "", "_Incapsula_Resource", true),
    ("kasada", "", "window.KPSDK", true),
    ("sucuri", "Sucuri WebSite Firewall", "", false),
    ("sucuri", "You are being redirected", "sucuri_cloudproxy_js", true),
];

/// The front end whose challenge this response is; `None` if it is not a known challenge.
pub(super) fn challenger(status: u16, headers: &HeaderMap, body: &[u8]) -> Option<&'static str> {
    let is_refusal = REFUSED.contains(&status);
    for (name, value) in headers {
        let known = HEADERS.iter().find(|(_, known, ..)| *known == name.as_str());
        if let Some((by, _, values, always)) = known
            && (*always || is_refusal)
            && (values.is_empty() || values.iter().any(|one| value.as_bytes().eq_ignore_ascii_case(one.as_bytes())))
        {
            return Some(by);
        }
    }
    let body = body[..body.len().min(READ)].trim_ascii_start();
    let is_page = matches!(status, 200 | 202) && body.starts_with(b"<");
    if !is_refusal && !is_page {
        return None;
    }
    let (title, has_script) = head(body);
    if is_page && title.is_empty() && !has_script {
        return None;
    }
    let is_shape = |(_, begins, bytes, is_ok): &&(&str, &str, &str, bool)| {
        (is_refusal || *is_ok)
            && (if begins.is_empty() { is_refusal || title.is_empty() } else { title.starts_with(begins) })
            && (bytes.is_empty() || find(body, bytes.as_bytes()).is_some())
    };
    BODIES.iter().find(is_shape).map(|(by, ..)| *by)
}

/// The title at the beginning of a page, empty if there is none; and whether there is a script or a title, even an empty one.
fn head(page: &[u8]) -> (Cow<'_, str>, bool) {
    let mut has_script = false;
    for at in memchr_iter(b'<', page) {
        let tag = &page[at + 1..];
        let is = |name: &[u8]| tag.get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name));
        has_script |= is(b"script");
        if is(b"title") {
            let text = tag.split(|byte| *byte == b'<').next().unwrap_or_default();
            let text = text.splitn(2, |byte| *byte == b'>').nth(1).unwrap_or_default();
            let text = String::from_utf8_lossy(text.trim_ascii());
            if !text.contains('&') {
                return (text, true);
            }
            // The only references in known titles.
            return (text.replace("&#39;", "'").replace("&nbsp;", "").into(), true);
        }
    }
    (Cow::default(), has_script)
}

#[cfg(test)]
mod tests {
    use http::header::{HeaderName, HeaderValue};

    use super::*;

    fn of(status: u16, head: &str, body: &str) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for (name, value) in head.lines().map(|line| line.split_once(": ").unwrap()) {
            headers.append(HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value).unwrap());
        }
        challenger(status, &headers, body.as_bytes())
    }

    /// A status, headers and a body.
    type Answer = (u16, &'static str, &'static str);

    /// The front end, its challenge, and a similar response that is not one.
    const CASES: [(&str, Answer, Answer); 40] = [
        (
            "ddos-guard",
            (403, "", "<html><head><title>DDoS-Guard</title>"),
            (200, "", "<html><head><title>DDoS-Guard</title>"),
        ),
        ("cloudflare", (403, "cf-mitigated: challenge", ""), (403, "cf-ray: 8f1-FRA\nserver: cloudflare", "")),
        ("cloudflare", (200, "CF-Mitigated: Challenge", "<p>?"), (200, "cf-cache-status: challenge", "<p>?")),
        (
            "cloudflare",
            (503, "", "<!DOCTYPE html><html lang=\"en-US\"><head><title>Just a moment...</title><meta http-equiv"),
            (200, "", "<!DOCTYPE html><html><head><title>Just a moment...</title><p>A story by Ann"),
        ),
        (
            "cloudflare",
            (403, "", "<html><head>\n<title>Attention Required! | Cloudflare</title>"),
            (403, "", "<html><head>\n<title>What is \"Attention Required! | Cloudflare\"?</title>"),
        ),
        (
            "cloudflare",
            (
                429,
                "",
                "<title>Access denied | a.test used Cloudflare to restrict access</title><div id=\"cf-error-details\">",
            ),
            (200, "", "<title>Errors of front ends</title><pre>div id=\"cf-error-details\"</pre>"),
        ),
        ("cloudflare", (403, "", "error code: 1020"), (404, "", "error code: 1020")),
        ("cloudflare", (429, "", "error code: 1015"), (429, "", "error code: 7")),
        ("cloudflare", (403, "", "error code: 1010"), (500, "", "error code: 1010")),
        ("vercel", (429, "x-vercel-mitigated: challenge", ""), (429, "x-vercel-id: fra1::1", "")),
        ("vercel", (403, "x-vercel-mitigated: deny", ""), (403, "x-vercel-mitigated: none", "")),
        ("aws", (202, "x-amzn-waf-action: challenge", ""), (202, "x-amzn-requestid: challenge", "")),
        ("aws", (405, "x-amzn-waf-action: captcha", ""), (405, "allow: GET", "")),
        (
            "aws",
            (202, "", "<html><head><title></title><script>window.gokuProps = {\"key\":\"AQ"),
            (200, "", "<html><head><title>window.gokuProps explained</title><script>window.gokuProps = {}"),
        ),
        (
            "aws",
            (403, "", "<TITLE>ERROR: The request could not be satisfied</TITLE>\n<H2>Request blocked.\n"),
            (503, "", "<TITLE>ERROR: The request could not be satisfied</TITLE>\n<H2>We can't connect to the server"),
        ),
        ("siteground", (202, "sg-captcha: challenge", "<html>"), (202, "sg-f-cache: HIT", "<html>")),
        (
            "datadome",
            (403, "x-dd-b: 1\nx-datadome: protected", "{}"),
            (200, "x-dd-b: 1\nx-datadome: protected", "<p>page"),
        ),
        (
            "datadome",
            (405, "", "<html><head><title>a.test</title><script>var dd={'rt':'c','host':'geo.captcha-delivery.com'"),
            (200, "", "<html><head><title>a.test</title><script src=//ct.captcha-delivery.com/c.js></script>"),
        ),
        (
            "datadome",
            (403, "", "{\"url\":\"https://geo.captcha-delivery.com/captcha/?initialCid=1\"}"),
            (200, "", "{\"url\":\"https://geo.captcha-delivery.com/captcha/?initialCid=1\"}"),
        ),
        ("kasada", (429, "x-kpsdk-ct: 0a1b", ""), (200, "x-kpsdk-ct: 0a1b", "<title>A page</title>")),
        (
            "kasada",
            (429, "", "<!DOCTYPE html><html><head></head><body><script>window.KPSDK={};KPSDK.now="),
            (200, "", "<!DOCTYPE html><html><head><title>Shop</title><script>window.KPSDK={};"),
        ),
        (
            "akamai",
            (
                403,
                "",
                "<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>https&#58;&#47;&#47;errors&#46;edgesuite&#46;net",
            ),
            (403, "", "<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>Sign in first"),
        ),
        (
            "akamai",
            (428, "", "{\"sec-cp-challenge\": \"true\",\"provider\":\"crypto\""),
            (428, "", "{\"error\":\"If-Match\"}"),
        ),
        (
            "akamai",
            (
                200,
                "",
                "<html><head><meta http-equiv=\"refresh\" content=\"5; URL='/?bm-verify=AAQ'\" /><title>&nbsp;</title>",
            ),
            (200, "", "<html><head><title>Displays</title></head><body><a href=\"/?bm-verify=AAQ\">next</a>"),
        ),
        (
            "akamai",
            (429, "", "<div id=\"sec-if-cpt-container\" role=\"main\">"),
            (404, "", "<div id=\"sec-if-cpt-container\" role=\"main\">"),
        ),
        (
            "imperva",
            (
                200,
                "",
                "<html>\n<head>\n<META NAME=\"robots\" CONTENT=\"noindex\">\n<script src=\"/_Incapsula_Resource?SWJI",
            ),
            (200, "", "<html><head><title>News</title><script src=\"/_Incapsula_Resource?SWJI"),
        ),
        (
            "imperva",
            (
                403,
                "",
                "<html style=\"height:100%\"><head></head><iframe id=\"main-iframe\" src=\"/_Incapsula_Resource?CWUDNSAI=1",
            ),
            (
                404,
                "",
                "<html style=\"height:100%\"><head></head><iframe id=\"main-iframe\" src=\"/_Incapsula_Resource?CWUDNSAI=1",
            ),
        ),
        (
            "imperva",
            (200, "", "<head>\n<title>Pardon Our Interruption</title>"),
            (200, "", "<head>\n<title>Please Pardon Our Interruption</title>"),
        ),
        (
            "human",
            (403, "", "<title>Access to this page has been denied</title>"),
            (403, "", "<title>Access to this file</title>"),
        ),
        (
            "human",
            (429, "", "<div id=\"px-block\"></div><script>window._pxAppId = 'PX1';"),
            (200, "", "<title>Shop</title><script>window._pxAppId = 'PX1';"),
        ),
        (
            "sucuri",
            (403, "", "<title>Sucuri WebSite Firewall - Access Denied</title>"),
            (403, "x-sucuri-id: 15", "<title>Forbidden</title>"),
        ),
        (
            "sucuri",
            (200, "", "<html><title>You are being redirected...</title><script>var s={},sucuri_cloudproxy_js='',S='"),
            (200, "", "<html><title>You are being redirected...</title><a href=\"/new\">here</a>"),
        ),
        (
            "fastly",
            (200, "", "<html><head><title>Client Challenge</title>\n<link href=\"/_fs-ch-1T1/assets/styles.css\""),
            (200, "", "<html><head><title>Client Challenge</title><p>How we won a client</p>"),
        ),
        (
            "anubis",
            (200, "", "<title>Making sure you&#39;re not a bot!</title><script id=\"anubis_version\""),
            (200, "", "<title>Making sure you're not a bot!</title><p>On captchas"),
        ),
        (
            "anubis",
            (401, "", "<title>Un instant</title><script id=\"anubis_challenge\" type=\"application/json\">"),
            (200, "", "<title>Un instant</title><pre>script id=\"anubis_challenge\"</pre>"),
        ),
        (
            "go-away",
            (
                418,
                "",
                "<title>Oh noes</title><link href=\"/.well-known/.git.gammaspectra.live/git/go-away/cmd/go-away/assets/",
            ),
            (200, "", "<title>go-away</title><p>git.gammaspectra.live/git/go-away/cmd/go-away is the command"),
        ),
        (
            "go-away",
            (200, "", "<title>Checking you are not a bot</title><script src=\"/.well-known/.git/go-away/cmd/go-away/"),
            (200, "", "<title>Checking you are not a bot</title><p>A guide"),
        ),
        (
            "f5",
            (200, "", "<html><head><title>Request Rejected</title></head><body>Your support ID is: 12<br>"),
            (200, "", "<html><head><title>Request Rejected</title></head><body>A play in one act"),
        ),
        (
            "f5",
            (200, "", "<!DOCTYPE html>\n<html><head>\n<script>window[\"bobcmn\"] = \"1011"),
            (200, "", "<!DOCTYPE html>\n<html><head><title>A shop</title><script>window[\"bobcmn\"] = \"1011"),
        ),
        (
            "f5",
            (200, "", "<html><head><script>window['istlWasHere'] = true;"),
            (200, "", "window['istlWasHere'] = true;"),
        ),
    ];

    #[test]
    fn each_shape_is_told_from_what_is_close_to_it() {
        for (by, (status, head, body), (other, near_head, near)) in CASES {
            assert_eq!(of(status, head, body), Some(by), "{head}{body}");
            assert_eq!(of(other, near_head, near), None, "{near_head}{near}");
        }
        for (by, title, bytes, is_ok) in BODIES {
            let is_tried = |(tried, (_, _, body), _): &(&str, Answer, Answer)| {
                *tried == by && body.replace("&#39;", "'").contains(title) && body.contains(bytes)
            };
            assert!(CASES.iter().any(is_tried), "no case for {title}{bytes}");
            let body = format!("<title>{title}</title>{bytes}");
            assert_eq!((of(403, "", &body), of(404, "", &body)), (Some(by), None));
            assert_eq!(of(200, "", &body), is_ok.then_some(by), "{body}");
        }
    }

    #[test]
    fn only_the_beginning_of_a_body_tells() {
        let page = |before: usize| format!("<p>{}</p>window.gokuProps", "a".repeat(before));
        assert_eq!(of(403, "", &page(READ - 30)), Some("aws"));
        assert_eq!(of(403, "", &page(READ)), None);
    }
}
