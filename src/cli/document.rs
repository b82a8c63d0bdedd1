//! Commands that read one document, which is a URL, a file, or standard input: `crawler sitemap` lists its URLs, and
//! `crawler extract` takes values from it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::command_error::{CommandError, Exit};
use super::output::{Safe, print, warn};
use super::settings::AllSettings;
use crate::address::{BaseUrl, Canonicalizer};
use crate::crawl::{
    FetchOptions, Fetcher, FieldPart, FieldRule, FieldSet, FieldValue, SitemapAddress, SitemapEntry, SitemapFormat,
    SitemapLimits, is_html, parse, read_sitemap,
};
use crate::frontier::Failure;

/// Advice for an address that may not be requested.
const PRIVATE: &str = "addresses that are not public are asked only with --allow-network or --allow-private-addresses";

/// Redirects that are followed.
const REDIRECTS: usize = 10;

/// What to take from a page, instead of the fields in the settings.
#[derive(Debug, Args)]
pub(super) struct Selection {
    /// Print what this selects instead, one value a line.
    #[arg(long, value_name = "CSS")]
    select: Option<String>,
    /// Take this attribute of each element, and not its text.
    #[arg(long, value_name = "NAME", requires = "select", conflicts_with = "html")]
    attr: Option<String>,
    /// Take the HTML of each element, and not its text.
    #[arg(long, requires = "select")]
    html: bool,
    /// Take only the part that this matches, or its first group.
    #[arg(long, value_name = "REGEX", requires = "select")]
    regex: Option<String>,
}

impl Selection {
    /// The rule that it stands for, if a selector is given.
    pub(super) fn rule(&self) -> Option<FieldRule> {
        let part = match &self.attr {
            Some(name) => FieldPart::Attribute(name.clone()),
            None if self.html => FieldPart::Html,
            None => FieldPart::Text,
        };
        self.select.clone().map(|select| FieldRule { select, part, many: true, regex: self.regex.clone() })
    }
}

/// A document as it was fetched or read.
pub(super) struct Document {
    pub(super) name: String,
    pub(super) body: Vec<u8>,
    pub(super) content_type: Option<Cow<'static, str>>,
    pub(super) base: Option<BaseUrl>,
    /// Why it is incomplete, if it is.
    pub(super) cut: Option<String>,
}

impl Document {
    /// Fetches or reads a document, up to `max_bytes`, the value of the setting `key`. From a file one more byte is read, to notice that it
    /// is longer.
    pub(super) fn get(
        options: &FetchOptions,
        from: &str,
        canonicalizer: &Canonicalizer,
        (key, max_bytes): (&str, usize),
    ) -> Result<Self, CommandError> {
        let is_url = ["http://", "https://"]
            .iter()
            .any(|scheme| from.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
        if !is_url {
            return read(from, max_bytes);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(CommandError::of(Exit::Failed, "cannot start"))?;
        let options = FetchOptions { max_body_bytes: max_bytes, ..options.clone() };
        runtime.block_on(fetch(&options, from, canonicalizer, key))
    }
}

fn read(from: &str, max_bytes: usize) -> Result<Document, CommandError> {
    let (mut body, most) = (Vec::new(), max_bytes as u64 + 1);
    let read = if from == "-" {
        io::stdin().lock().take(most).read_to_end(&mut body)
    } else {
        File::open(from).and_then(|file| file.take(most).read_to_end(&mut body))
    };
    read.map_err(CommandError::cannot(Exit::Failed, "read", Path::new(from)))?;
    Ok(Document { name: from.to_owned(), body, content_type: None, base: None, cut: None })
}

/// Fetches a document, following redirects. The user has asked for this URL, so its host's robots.txt is not checked.
async fn fetch(
    options: &FetchOptions,
    from: &str,
    canonicalizer: &Canonicalizer,
    key: &str,
) -> Result<Document, CommandError> {
    let failed = |what: &str| CommandError::new(Exit::Failed, what);
    let fetcher = Fetcher::new(options).map_err(CommandError::of(Exit::Usage, "fetch"))?;
    let (mut url, mut base) = canonicalizer.page(from).map_err(CommandError::of(Exit::Usage, from))?;
    for _ in 0..=REDIRECTS {
        let response = fetcher.fetch(url.wire()).await;
        let response = response.map_err(|error| {
            let is_private = error.failure == Failure::Address;
            let failed = CommandError::caused(Exit::Failed, &format!("cannot fetch {}", url.wire()), &error);
            if is_private { failed.and(PRIVATE.to_owned()) } else { failed }
        })?;
        let name = url.wire().to_owned();
        if let (300..400, Some(location)) = (response.status, &response.location) {
            let to = canonicalizer.join(&base, location).map_err(CommandError::of(Exit::Failed, name))?;
            (url, base) = canonicalizer.page(to.wire()).map_err(CommandError::of(Exit::Failed, from))?;
            continue;
        }
        if !(200..300).contains(&response.status) || response.raw {
            return Err(failed(&format!("{name} answers {}", response.status)));
        }
        let broken = response.incomplete.as_ref().map(ToString::to_string);
        let cut = broken.or_else(|| response.truncated.then(|| format!("longer than {key}")));
        let (body, content_type) = (response.body, response.content_type);
        return Ok(Document { name, body, content_type, base: Some(base), cut });
    }
    Err(failed(&format!("{from} redirects too often")))
}

/// Prints the URLs in their order, each as it would be requested. Faults of the file are reported on standard error,
/// with their places.
pub(super) fn sitemap(settings: &AllSettings, from: &str, base: Option<&str>, json: bool) -> Result<(), CommandError> {
    let options = &settings.crawl;
    let frontier = &options.frontier;
    let canonicalizer = Canonicalizer::new(&frontier.keys).with_max_bytes(frontier.traps.url_bytes);
    let base = base.map(|base| canonicalizer.base(base)).transpose();
    let base = base.map_err(CommandError::of(Exit::Usage, "--base"))?;
    let mut source =
        Document::get(&options.fetch, from, &canonicalizer, ("sitemaps.max_bytes", options.sitemaps.max_bytes))?;
    let mut place = SitemapAddress::new(canonicalizer.clone(), base.or(source.base.take()));
    let mut limits = SitemapLimits::default();
    (limits.max_urls, limits.max_bytes) = (options.sitemaps.max_urls, options.sitemaps.max_bytes);
    (limits.alternates, limits.is_cut) = (options.sitemaps.alternates, source.cut.is_some());
    let mut summary = None;
    let mut problems = Vec::new();
    print(|out| {
        let mut written = Ok(());
        let read = read_sitemap(&source.body, source.content_type.as_deref(), &limits, |entry| {
            let url = match place.complete(&entry) {
                (Some(base), url) => canonicalizer.join(base, &url),
                (None, url) => canonicalizer.canonicalize(&url),
            };
            match url {
                Ok(url) if written.is_ok() => written = line(out, url.wire(), &entry, json),
                Ok(_) => {}
                Err(error) => problems.push(format!("at byte {}: {}: {error}", entry.offset, entry.url)),
            }
        });
        summary = Some(read);
        written
    })?;
    let summary = summary.unwrap_or_default();
    let name = &source.name;
    if summary.format == SitemapFormat::Unknown {
        let problem = summary.first_problem(limits.max_urls).unwrap_or_default();
        return Err(CommandError::new(Exit::Failed, format!("{name} is not a sitemap: {problem}")));
    }
    summary.problem.iter().for_each(|problem| warn(&format!("{name}: {problem}")));
    if summary.problems > 1 {
        warn(&format!("{name}: {} more faults", summary.problems - 1));
    }
    problems.iter().take(10).for_each(|problem| warn(&format!("{name}: {problem}")));
    if problems.len() > 10 {
        warn(&format!("{name}: {} more entries that are not URLs", problems.len() - 10));
    }
    summary.excess(limits.max_urls).iter().for_each(|excess| warn(&format!("{name}: {excess}")));
    source.cut.iter().for_each(|why| warn(&format!("{name}: {why}")));
    Ok(())
}

fn line(out: &mut dyn Write, url: &str, entry: &SitemapEntry, is_json: bool) -> io::Result<()> {
    if !is_json {
        return writeln!(out, "{}", Safe(url));
    }
    let SitemapEntry { kind, lastmod, priority, .. } = entry;
    // The priority as it was written: 0.8, not 0.800000011920929.
    let priority: Option<f64> = priority.and_then(|priority| priority.to_string().parse().ok());
    writeln!(out, "{}", json!({ "url": url, "kind": kind.name(), "lastmod": lastmod, "priority": priority }))
}

/// Prints the fields of `[extract]` as JSON, as in a record; for one rule, each value on a line.
pub(super) fn extract(settings: &AllSettings, from: &str, rule: Option<&FieldRule>) -> Result<(), CommandError> {
    let options = &settings.crawl;
    let one = rule.map(|rule| BTreeMap::from([("--select".to_owned(), rule.clone())]));
    let rules = one.as_ref().unwrap_or(&options.extract);
    if rules.is_empty() {
        return Err(CommandError::new(
            Exit::Usage,
            "nothing to extract: give --select CSS, or [extract.NAME] in crawler.toml",
        ));
    }
    let fields = FieldSet::new(rules, options.parse.max_nesting);
    let fields = fields.map_err(|error| match one {
        Some(_) => CommandError::new(Exit::Usage, format!("--{} = {:?}: {}", error.key, error.value, error.reason)),
        None => CommandError::new(Exit::Usage, error.to_string()),
    })?;
    let canonicalizer = Canonicalizer::new(&options.frontier.keys).with_max_bytes(options.frontier.traps.url_bytes);
    let limit = ("fetch.max_body_bytes", options.fetch.max_body_bytes);
    let Document { name, body, content_type, cut, .. } = Document::get(&options.fetch, from, &canonicalizer, limit)?;
    if let Some(why) = cut {
        warn(&format!("{name}: {why}"));
    }
    if let Some(other) = content_type.as_deref().filter(|_| !is_html(content_type.as_deref(), &body)) {
        return Err(CommandError::new(
            Exit::Failed,
            format!("{name} is {other}: a crawl takes fields from HTML alone"),
        ));
    }
    let page = parse(&body, content_type.as_deref(), &options.parse);
    let mut values = fields.extract(&body, &page);
    print(|out| match values.remove("--select").filter(|_| rule.is_some()) {
        Some(FieldValue::Many(values)) => values.iter().try_for_each(|value| writeln!(out, "{}", Safe(value))),
        _ => writeln!(out, "{}", serde_json::to_string(&values)?),
    })
}
