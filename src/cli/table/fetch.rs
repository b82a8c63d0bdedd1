//! Settings of fetching and of reading pages.

use crate::cli::field::{Bytes, Choice, Many, Maybe, MaybeBytes, One};
use crate::cli::setting::{Setting, setting, switch, value};
use crate::crawl::{ClientChoice, Engine};

const ENGINES: &[(&str, Engine)] = &[(Engine::Stream.name(), Engine::Stream), (Engine::Dom.name(), Engine::Dom)];

pub(super) static ROWS: &[Setting] = &[
    setting!(Choice, crawl: fetch.client,
        "What asks hosts: direct, or reqwest, which takes a tenth more CPU; fetch.proxy needs direct", ClientChoice::NAMED)
    .flags(&[value("client", "CLIENT").rare()]),
    setting!(One, crawl: fetch.user_agent, "The User-Agent header").flags(&[value("user-agent", "TEXT").short('A')]),
    setting!(Maybe, crawl: fetch.contact, "Whom a host can write to: a mail address or URL", "")
        .flags(&[value("contact", "ADDRESS")]),
    setting!(Many, crawl: fetch.headers,
        "Headers to send beside ours or in their place, as Name: value; kept in the job, so not for secrets")
    .flags(&[value("header", "LINE").rare()]),
    setting!(One, crawl: fetch.cookies, "Take the cookies that servers set, and send them back; the job keeps them")
        .flags(&[switch("cookies", &["true"]).rare()]),
    setting!(Many, crawl: fetch.load_cookies, "Files of cookies to begin with, as browsers export them: cookies.txt")
        .flags(&[value("load-cookies", "FILE").rare()]),
    setting!(Maybe, crawl: fetch.proxy,
        "A proxy to ask in the place of hosts: http://HOST:PORT, https://, socks5:// or socks5h://; env for the environment's",
        "none")
    .flags(&[value("proxy", "URL").rare()]),
    setting!(Maybe, crawl: fetch.proxy_sign_in,
        "How the proxy knows who asks: env:VARIABLE or file:PATH, with user:password in it", "none"),
    setting!(Many, crawl: fetch.no_proxy,
        "Hosts to ask without the proxy: example.org and all below it, 10.0.0.0/8, * for all")
    .flags(&[value("no-proxy", "HOST").rare()]),
    setting!(One, crawl: fetch.proxy_patience, "How long a proxy may fail before the crawl ends; nothing is lost by that"),
    setting!(One, crawl: fetch.proxy_connections, "Connections to a proxy at once; who needs one more waits"),
    setting!(Many, crawl: fetch.ca_files, "Files of certificates to trust hosts by beside the system's, as PEM")
        .flags(&[value("ca-file", "FILE").rare()]),
    setting!(One, crawl: fetch.insecure, "Take every certificate: whoever is on the way can read and change what is sent")
        .flags(&[switch("insecure", &["true"]).rare()]),
    setting!(One, crawl: fetch.connect_timeout, "For TCP and TLS together"),
    setting!(One, crawl: fetch.first_byte_timeout, "From the request sent to the response's head"),
    setting!(One, crawl: fetch.first_contact_timeout, "Both together, until a host has answered once"),
    setting!(One, crawl: fetch.idle_timeout, "Between two pieces of a body"),
    setting!(One, crawl: fetch.min_bytes_per_second, "A body that comes slower, on the average, is given up"),
    setting!(One, crawl: fetch.rate_grace, "How long a body may be slower than that"),
    setting!(One, crawl: fetch.total_timeout, "For a whole fetch"),
    setting!(Bytes, crawl: fetch.max_body_bytes, "A longer body is cut, and its record says so"),
    setting!(Many, crawl: fetch.types,
        "Only pages of these types, by Content-Type before the body is read: html, pdf, image/*; links need html")
    .flags(&[value("types", "TYPES").rare()]),
    setting!(MaybeBytes, crawl: fetch.max_bytes,
        "A longer page is refused: by its Content-Length before the body is read, or as soon as more has come", "unlimited")
    .flags(&[value("max-bytes", "SIZE").rare()]),
    setting!(One, crawl: fetch.allow_private_addresses, "Connect to private, loopback and link-local addresses too")
        .flags(&[switch("allow-private-addresses", &["true"]).rare()]),
    setting!(Many, crawl: fetch.allow_networks, "Blocks of addresses to connect to though they are not public: 10.1.0.0/16")
        .flags(&[value("allow-network", "CIDR").rare()]),
    setting!(Many, crawl: fetch.deny_networks, "Blocks of addresses never to connect to, whatever is allowed")
        .flags(&[value("deny-network", "CIDR").rare()]),
    setting!(One, crawl: fetch.http1_only, "No HTTP/2, not even with hosts that may have several requests at once")
        .flags(&[switch("http1-only", &["true"]).rare()]),
    setting!(Maybe, crawl: fetch.resolve_all_to, "Every name resolves to this address and port: a test web", "none")
        .flags(&[value("resolve-all-to", "ADDRESS").rare()]),
    setting!(One, crawl: sitemaps.enabled, "Look for sitemaps: in robots.txt, else at /sitemap.xml").flags(&[switch(
        "no-sitemaps",
        &["false"],
    )
    .says("Look for no sitemaps").rare()]),
    setting!(One, crawl: sitemaps.alternates, "Take pages in other languages that an entry names beside its own")
        .flags(&[switch("alternates", &["true"]).rare()]),
    setting!(One, crawl: sitemaps.any_host,
        "Take URLs of any host, not only the sitemap's own and the one whose robots.txt names it"),
    setting!(One, crawl: sitemaps.max_urls, "URLs taken from one sitemap; the others are counted"),
    setting!(Bytes, crawl: sitemaps.max_bytes, "A sitemap that unpacks to more is cut"),
    setting!(One, crawl: sitemaps.per_host, "Sitemaps of one host that others may list, in one run"),
    setting!(Choice, crawl: parse.engine,
        "What takes the links from a page: stream, or dom, many times slower", ENGINES),
    setting!(One, crawl: parse.nofollow, "Honor nofollow of links, pages and headers"),
    setting!(One, crawl: parse.json_ld, "Take URLs from structured data, too (JSON-LD: url, @id, sameAs and the like)")
        .flags(&[switch("json-ld", &["true"]).rare()]),
    setting!(One, crawl: parse.text_links, "Take URLs from plain texts (text/plain), too")
        .flags(&[switch("text-links", &["true"]).rare()]),
    setting!(One, crawl: parse.resources,
        "Take what is part of pages, too: images, styles, scripts and media, in the same scope")
    .flags(&[switch("resources", &["true"]).rare()]),
    setting!(One, crawl: parse.prefer_canonical, "Ask for a page's rel=canonical before its links")
        .flags(&[switch("prefer-canonical", &["true"]).rare()]),
    setting!(One, crawl: parse.max_links, "Links taken from one page"),
    setting!(One, crawl: parse.max_nesting,
        "Elements open at once for dom; a page that nests deeper is read as a stream"),
];
