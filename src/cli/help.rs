//! The text below the options in the long help: examples, where settings come from, exit codes.

use super::exit::Exit;

/// The text below the options of `--help`.
pub(super) fn after_long_help() -> String {
    let examples = EXAMPLES.map(|(command, what)| format!("  {command}\n      {what}\n")).concat();
    let codes = Exit::MEANINGS.map(|(exit, meaning)| format!("  {:>3}  {meaning}\n", exit as u8)).concat();
    format!(
        "Examples:\n{examples}\n\
         Each setting's value comes from, later over earlier: its default, crawler.toml, --simulate, the environment \
         (CRAWLER_POLITENESS_HOST_DELAY), its flag. `crawler config` tells which.\n\n\
         Exit codes:\n{codes}"
    )
}

const EXAMPLES: [(&str, &str); 13] = [
    ("crawler https://example.org/", "one site, up to its borders"),
    ("crawler --seeds seeds.txt --scope domain --depth 3", "a list of sites, with their subdomains, three links deep"),
    ("crawler --seeds seeds/simulated.txt --simulate", "a simulated web, without a network"),
    ("crawler https://example.org/ --warc", "the same, kept as a web archive; its index: crawler cdxj crawl/"),
    ("crawler resume crawl/", "a crawl that was stopped, killed or cut off, from where it stood"),
    ("crawler retry crawl/", "the pages that failed, once more"),
    ("crawler repair crawl/", "what is damaged in a job, and what can be had of it; --yes does it"),
    ("crawler drop crawl/ --host example.org", "a host that wants to be left alone; --undo takes it back"),
    ("crawler explain https://example.org/a --job crawl/", "why this URL was not fetched, or not yet"),
    ("crawler config --host-delay 2s > slow.toml", "the settings in force, as a file for --config"),
    ("crawler stats crawl/ --filter", "what the seen filter lost, shard by shard"),
    ("crawler top crawl/", "a crawl that runs, in the terminal: why it waits, its hosts; pause it, stop it"),
    ("crawler report crawl/ --open", "the report as a page, with charts"),
];
