//! `crawler sitemap`: the URLs that one sitemap or feed lists.

use std::io::{self, Write};

use serde_json::json;

use super::command_error::CommandError;
use super::document::Document;
use super::exit::Exit;
use super::output::{Safe, print, warn};
use super::settings::AllSettings;
use crate::address::Canonicalizer;
use crate::crawl::{SitemapEntry, SitemapFormat, SitemapLimits, SitemapPlace, read_sitemap};

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
    let mut place = SitemapPlace::new(canonicalizer.clone(), base.or(source.base.take()));
    let mut limits = SitemapLimits::default();
    (limits.max_urls, limits.max_bytes) = (options.sitemaps.max_urls, options.sitemaps.max_bytes);
    (limits.alternates, limits.is_cut) = (options.sitemaps.alternates, source.cut.is_some());
    let mut summary = None;
    let mut problems = Vec::new();
    print(|out| {
        let mut written = Ok(());
        let told = read_sitemap(&source.body, source.content_type.as_deref(), &limits, |entry| {
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
        summary = Some(told);
        written
    })?;
    let summary = summary.unwrap_or_default();
    let name = &source.name;
    if summary.format == SitemapFormat::Unknown {
        let problem = summary.first_problem(limits.max_urls).unwrap_or_default();
        return Err(CommandError::new(Exit::Failed, format!("{name} is no sitemap: {problem}")));
    }
    summary.problem.iter().for_each(|problem| warn(&format!("{name}: {problem}")));
    if summary.problems > 1 {
        warn(&format!("{name}: {} more that is wrong with it", summary.problems - 1));
    }
    problems.iter().take(10).for_each(|problem| warn(&format!("{name}: {problem}")));
    if problems.len() > 10 {
        warn(&format!("{name}: {} more that are no URLs", problems.len() - 10));
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
    // As it was written: 0.8 is not 0.800000011920929.
    let priority: Option<f64> = priority.and_then(|priority| priority.to_string().parse().ok());
    writeln!(out, "{}", json!({ "url": url, "kind": kind.name(), "lastmod": lastmod, "priority": priority }))
}
