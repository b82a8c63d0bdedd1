//! The live page: all crawls, for people. It has no script, and reloads itself every two seconds.

use std::fmt::Write;

use http::header::{CONTENT_SECURITY_POLICY, HeaderValue, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use http::{Response, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;

use super::answers::{HttpAnswer, answer};
use crate::serve::core::Crawls;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"2\">\
    <meta name=\"viewport\" content=\"width=device-width\"><title>crawler serve</title><style>\
    :root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem}table{border-collapse:collapse}\
    th,td{padding:.2rem .8rem;text-align:right}th:first-child,td:first-child,td:nth-child(2),th:nth-child(2){text-align:left}\
    tbody tr{border-top:1px solid #8884}</style></head><body><main><h1>Crawls</h1>";
const COLUMNS: [&str; 9] = [
    "Crawl",
    "State",
    "Waiting URLs",
    "Leased",
    "Done",
    "Hosts with URLs",
    "Retired hosts",
    "Leases that ended",
    "Calls that wait",
];

/// The page. Names of crawls are letters, digits, `.`, `_` and `-`, so they need no escapes; all else is numbers.
pub(super) async fn page(crawls: &Crawls) -> HttpAnswer {
    let mut html = HEAD.to_owned();
    let all = crawls.all();
    if all.is_empty() {
        html.push_str("<p>There are none. <code>PUT /v1/crawls/NAME</code> makes one.</p>");
    } else {
        html.push_str("<table><thead><tr>");
        for name in COLUMNS {
            // Writing to memory does not fail.
            _ = write!(html, "<th scope=\"col\">{name}</th>");
        }
        html.push_str("</tr></thead><tbody>");
        for (name, crawl, _) in all {
            let name = name.as_str();
            _ = match crawl.state().await {
                Ok(state) => {
                    let of = &state.frontier;
                    let word = match (state.is_paused, of.is_drained()) {
                        (true, _) => "paused",
                        (_, true) => "drained",
                        _ => "lending",
                    };
                    let numbers = [
                        of.queued,
                        of.leased,
                        of.completed,
                        of.active_hosts,
                        of.retired_hosts,
                        of.expired,
                        state.waiting as u64,
                    ];
                    _ = write!(html, "<tr><td>{name}</td><td>{word}</td>");
                    for number in numbers {
                        _ = write!(html, "<td>{number}</td>");
                    }
                    write!(html, "</tr>")
                }
                Err(_) => {
                    write!(html, "<tr><td>{name}</td><td>its files cannot be opened: ask its statistics</td></tr>")
                }
            };
        }
        html.push_str("</tbody></table>");
    }
    html.push_str("</main></body></html>\n");
    let mut answer: Response<Full<Bytes>> = answer(StatusCode::OK, HTML, html);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}
