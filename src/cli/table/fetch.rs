//! Settings of fetching and of reading pages.

use crate::cli::field::{Bytes, Choice, Maybe, One};
use crate::cli::setting::{Setting, row, switch, value};
use crate::crawl::Engine;

const ENGINES: &[(&str, Engine)] = &[(Engine::Stream.name(), Engine::Stream), (Engine::Dom.name(), Engine::Dom)];

pub(super) static ROWS: &[Setting] = &[
    row("fetch.user_agent", "The User-Agent header", &One(|s| &mut s.crawl.fetch.user_agent)).flags(&[value(
        "user-agent",
        "TEXT",
    )
    .short('A')]),
    row("fetch.contact", "Whom a host can write to: a mail address or URL", &Maybe(|s| &mut s.crawl.fetch.contact, ""))
        .flags(&[value("contact", "ADDRESS")]),
    row("fetch.connect_timeout", "For TCP and TLS together", &One(|s| &mut s.crawl.fetch.connect_timeout)),
    row(
        "fetch.first_byte_timeout",
        "From the request sent to the response's head",
        &One(|s| &mut s.crawl.fetch.first_byte_timeout),
    ),
    row(
        "fetch.first_contact_timeout",
        "Both together, until a host has answered once",
        &One(|s| &mut s.crawl.fetch.first_contact_timeout),
    ),
    row("fetch.idle_timeout", "Between two pieces of a body", &One(|s| &mut s.crawl.fetch.idle_timeout)),
    row(
        "fetch.min_bytes_per_second",
        "A body that comes slower, on the average, is given up",
        &One(|s| &mut s.crawl.fetch.min_bytes_per_second),
    ),
    row("fetch.rate_grace", "How long a body may be slower than that", &One(|s| &mut s.crawl.fetch.rate_grace)),
    row("fetch.total_timeout", "For a whole fetch", &One(|s| &mut s.crawl.fetch.total_timeout)),
    row(
        "fetch.max_body_bytes",
        "A longer body is cut, and its record says so",
        &Bytes(|s| &mut s.crawl.fetch.max_body_bytes),
    ),
    row(
        "fetch.allow_private_addresses",
        "Connect to private, loopback and link-local addresses too",
        &One(|s| &mut s.crawl.fetch.allow_private_addresses),
    )
    .flags(&[switch("allow-private-addresses", &["true"]).rare()]),
    row(
        "fetch.resolve_all_to",
        "Every name resolves to this address and port: a test web",
        &Maybe(|s| &mut s.crawl.fetch.resolve_all_to, "none"),
    ),
    row(
        "parse.engine",
        "What takes the links from a page: stream, or dom, many times slower",
        &Choice(|s| &mut s.crawl.parse.engine, ENGINES),
    ),
    row("parse.nofollow", "Honor nofollow of links, pages and headers", &One(|s| &mut s.crawl.parse.nofollow)),
    row("parse.max_links", "Links taken from one page", &One(|s| &mut s.crawl.parse.max_links)),
    row(
        "parse.max_nesting",
        "Elements open at once for dom; a page that nests deeper is read as a stream",
        &One(|s| &mut s.crawl.parse.max_nesting),
    ),
];
