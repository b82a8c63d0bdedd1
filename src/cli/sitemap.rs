//! `crawler sitemap`: the URLs that one sitemap or feed lists.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use serde_json::json;

use super::command_error::CommandError;
use super::exit::Exit;
use super::output::{Safe, print, warn};
use super::settings::AllSettings;
use crate::address::{BaseUrl, Canonicalizer};
use crate::crawl::{Fetcher, SitemapEntry, SitemapFormat, SitemapLimits, read_sitemap};

/// Redirects that are followed.
const REDIRECTS: usize = 10;

/// A sitemap as it came.
struct Source {
    name: String,
    body: Vec<u8>,
    content_type: Option<String>,
    base: Option<BaseUrl>,
    /// Why it may not be whole.
    cut: Option<String>,
}

/// Prints the URLs in their order, each as it would be requested. What is wrong with the file is told on standard error, with its place.
pub(super) fn sitemap(settings: &AllSettings, from: &str, base: Option<&str>, json: bool) -> Result<(), CommandError> {
    let options = &settings.crawl;
    let frontier = &options.frontier;
    let canonicalizer = Canonicalizer::new(&frontier.keys).with_max_bytes(frontier.traps.url_bytes);
    let base = base.map(|base| canonicalizer.base(base)).transpose();
    let base = base.map_err(CommandError::of(Exit::Usage, "--base"))?;
    let is_url = ["http://", "https://"]
        .iter()
        .any(|scheme| from.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let mut source =
        if is_url { fetch(settings, from, &canonicalizer)? } else { read(from, options.sitemaps.max_bytes)? };
    source.base = base.or(source.base);
    let mut limits = SitemapLimits::default();
    (limits.max_urls, limits.max_bytes) = (options.sitemaps.max_urls, options.sitemaps.max_bytes);
    (limits.alternates, limits.is_cut) = (options.sitemaps.alternates, source.cut.is_some());
    let mut summary = None;
    let mut problems = Vec::new();
    print(|out| {
        let mut written = Ok(());
        let told = read_sitemap(&source.body, source.content_type.as_deref(), &limits, |entry| {
            let url = match &source.base {
                Some(base) => canonicalizer.join(base, &entry.url),
                None => canonicalizer.canonicalize(&entry.url),
            };
            match url {
                Ok(url) if written.is_ok() => written = line(out, url.wire(), &entry, json),
                Ok(_) => {}
                Err(error) => problems.push(format!("at byte {}: {}: {error}", entry.offset, entry.url)),
            }
        });
        summary = Some(told);
        written
    })?;
    let summary = summary.unwrap_or_default();
    let name = &source.name;
    if summary.format == SitemapFormat::Unknown {
        let problem = summary.problem.map_or_else(|| "it is empty".to_owned(), |problem| problem.to_string());
        return Err(CommandError::new(Exit::Failed, format!("{name} is no sitemap: {problem}")));
    }
    summary.problem.iter().for_each(|problem| warn(&format!("{name}: {problem}")));
    problems.iter().take(10).for_each(|problem| warn(&format!("{name}: {problem}")));
    if problems.len() > 10 {
        warn(&format!("{name}: {} more that are no URLs", problems.len() - 10));
    }
    if summary.beyond > 0 {
        warn(&format!("{name}: {} URLs beyond sitemaps.max_urls = {}", summary.beyond, limits.max_urls));
    }
    source.cut.iter().for_each(|why| warn(&format!("{name}: {why}")));
    Ok(())
}

fn line(out: &mut dyn Write, url: &str, entry: &SitemapEntry, is_json: bool) -> io::Result<()> {
    if !is_json {
        return writeln!(out, "{}", Safe(url));
    }
    let SitemapEntry { kind, lastmod, priority, .. } = entry;
    // As it was written: 0.8 is not 0.800000011920929.
    let priority: Option<f64> = priority.and_then(|priority| priority.to_string().parse().ok());
    writeln!(out, "{}", json!({ "url": url, "kind": kind.name(), "lastmod": lastmod, "priority": priority }))
}

fn read(from: &str, max_bytes: usize) -> Result<Source, CommandError> {
    let (mut body, most) = (Vec::new(), max_bytes as u64 + 1);
    let read = if from == "-" {
        io::stdin().lock().take(most).read_to_end(&mut body)
    } else {
        File::open(from).and_then(|file| file.take(most).read_to_end(&mut body))
    };
    read.map_err(CommandError::cannot(Exit::Failed, "read", Path::new(from)))?;
    Ok(Source { name: from.to_owned(), body, content_type: None, base: None, cut: None })
}

/// Fetches a sitemap, over redirects. Whoever gives its URL has decided to ask for it, so its host's robots.txt is not asked.
fn fetch(settings: &AllSettings, from: &str, canonicalizer: &Canonicalizer) -> Result<Source, CommandError> {
    let mut options = settings.crawl.fetch.clone();
    options.max_body_bytes = settings.crawl.sitemaps.max_bytes;
    let failed = |what: &str| CommandError::new(Exit::Failed, what);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CommandError::of(Exit::Failed, "cannot start"))?;
    runtime.block_on(async {
        let fetcher = Fetcher::new(&options).map_err(CommandError::of(Exit::Usage, "fetch"))?;
        let (mut url, mut base) = canonicalizer.page(from).map_err(CommandError::of(Exit::Usage, from))?;
        for _ in 0..=REDIRECTS {
            let response = fetcher.fetch(url.wire()).await;
            let response = response.map_err(CommandError::of(Exit::Failed, format!("cannot fetch {}", url.wire())))?;
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
            let cut = broken.or_else(|| response.truncated.then(|| "longer than sitemaps.max_bytes".to_owned()));
            let (body, content_type) = (response.body, response.content_type);
            return Ok(Source { name, body, content_type, base: Some(base), cut });
        }
        Err(failed(&format!("{from} redirects too often")))
    })
}
