//! `crawler serve`: one frontier for many workers, until the first Ctrl-C or SIGTERM.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::command_error::{CommandError, Exit};
use super::config::effective;
use super::layers::{Inputs, Layers};
use super::output::{note, print};
use super::request::ServeRequest;
use super::signals;
use super::toml_file;
use crate::crawl::{Secret, raise_open_files};
use crate::serve::core::{CrawlRules, Crawls, CrawlsError, FILTERS, ReadRules, RulesError, ServeLimits};
use crate::serve::filters::{FilterLimits, Filters};
use crate::serve::http::{Access, HttpServer, certificate};
use crate::serve::resp::{RespLimits, RespServer};

/// Serves the crawls of a directory.
pub(super) fn serve(request: &ServeRequest) -> Result<(), CommandError> {
    let ServeRequest { listen, listen_resp, filter_memory, job, token, certificate: chain, key } = request;
    let token = token.as_ref().map(Secret::read).transpose();
    let token = token.map_err(|reason| CommandError::new(Exit::Usage, format!("--token: {reason}")))?;
    let certificate = chain.as_deref().zip(key.as_deref()).map(|(chain, key)| certificate(chain, key)).transpose();
    let certificate = certificate.map_err(|error| CommandError::caused(Exit::Usage, "--certificate", &error))?;
    // Each connection is one.
    raise_open_files();
    let (stop, stopped) = oneshot::channel();
    signals::at_first(move |_| _ = stop.send(())).map_err(CommandError::of(Exit::Failed, "signals"))?;
    let crawls = Crawls::open(job, Arc::new(TomlRules), ServeLimits::default()).map_err(|error| {
        let exit = if let CrawlsError::Rules(_) = error { Exit::Usage } else { Exit::NotKept };
        CommandError::caused(exit, &format!("cannot serve {}", job.display()), &error)
    })?;
    let crawls = Arc::new(crawls);
    let filters = listen_resp.map(|listen| open_filters(job, *filter_memory).map(|filters| (listen, filters)));
    let filters = filters.transpose()?;
    let served = signals::block_on(async {
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let access = Access { token, certificate };
        let cannot = |listen| CommandError::of(Exit::Usage, format!("cannot listen at {listen}"));
        let server = HttpServer::listen(*listen, Arc::clone(&crawls), access.clone()).await;
        let server = server.map_err(cannot(*listen))?;
        let address = server.address().map_err(CommandError::of(Exit::Failed, "cannot listen"))?;
        let resp = match &filters {
            None => None,
            Some((listen, filters)) => {
                let resp = RespServer::listen(*listen, Arc::clone(filters), access, RespLimits::default()).await;
                Some(resp.map_err(cannot(*listen))?)
            }
        };
        print(|out| writeln!(out, "{address}"))?;
        if let Some(resp) = &resp {
            let address = resp.address().map_err(CommandError::of(Exit::Failed, "cannot listen"))?;
            print(|out| writeln!(out, "{address}"))?;
            note(&format!("filters are served at redis://{address}"));
        }
        note(&format!("{} is served at {scheme}://{address}/v1/crawls; Ctrl-C ends it", job.display()));
        let resp = async move {
            match resp {
                Some(resp) => resp.serve().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = server.serve() => {}
            () = resp => {}
            // The signal is reported only once, and the thread that reports it ends with the process.
            _ = stopped => {}
        }
        Ok(())
    });
    // These checkpoints only save time: without them the next start reads more of the journals.
    crawls.close();
    if let Some((_, filters)) = filters {
        filters.close();
    }
    served
}

fn open_filters(job: &Path, memory: u64) -> Result<Arc<Filters>, CommandError> {
    let limits = FilterLimits { bytes: memory, ..FilterLimits::default() };
    let filters = Filters::open(&job.join(FILTERS), limits);
    filters.map(Arc::new).map_err(|error| CommandError::caused(Exit::NotKept, "cannot serve the filters", &error))
}

/// More pages than any crawl has.
const NO_LIMIT: u64 = 1_000_000_000_000_000;

/// Reads settings as `crawler.toml` has them, with its names, checks and hints. All hosts are in scope unless the settings say otherwise:
/// clients send what they want.
struct TomlRules;

impl ReadRules for TomlRules {
    fn read(&self, sections: &Map<String, Value>) -> Result<CrawlRules, RulesError> {
        let mut sections = sections.clone();
        let scope = sections.entry("scope").or_insert_with(|| Map::new().into());
        if let Value::Object(scope) = scope {
            scope.entry("kind").or_insert_with(|| "any".into());
        }
        let text = toml_file::of_json(&sections).map_err(|reason| RulesError(vec![reason]))?;
        let file = toml_file::entries("settings", &text).map_err(RulesError)?;
        let inputs = Inputs { file, is_whole: false, environment: Vec::new(), flags: Vec::new() };
        let mut layers = Layers::merge(&inputs).map_err(RulesError)?;
        // The commands that read the job's file refuse a crawl of the whole web without a limit.
        layers.settings.crawl.max_pages.get_or_insert(NO_LIMIT);
        // The command's checks of contradictory settings are left out: no page is fetched here. The frontier checks its own options.
        let crawl = &layers.settings.crawl;
        Ok(CrawlRules { frontier: crawl.frontier.clone(), open: crawl.job.open, file: Some(effective(&layers)) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::gate::ScopeKind;

    fn read(sections: Value) -> Result<CrawlRules, RulesError> {
        let Value::Object(sections) = sections else { panic!("an object") };
        TomlRules.read(&sections)
    }

    #[test]
    fn sections_are_those_of_the_file() {
        let rules = read(json!({
            "politeness": { "host_delay": "250ms", "robots": false },
            "hosts": { "slow.example": { "host_delay": "5s" } },
            "groups": { "cdn": { "hosts": ["a.example", "b.example"], "delay": "1s" } },
            "seen": { "layout": "exact" },
        }))
        .unwrap();
        assert_eq!(rules.frontier.politeness.host_delay, Duration::from_millis(250));
        assert_eq!(rules.frontier.rules.hosts["slow.example"].host_delay, Some(Duration::from_secs(5)));
        assert_eq!(rules.frontier.rules.groups["cdn"].hosts.len(), 2);
        assert_eq!(rules.frontier.scope.kind, ScopeKind::Any);
        assert!(rules.file.unwrap().contains("host_delay = \"250ms\""));
        assert_eq!(read(json!({ "scope": { "kind": "host" } })).unwrap().frontier.scope.kind, ScopeKind::Host);
    }

    #[test]
    fn a_wrong_section_is_refused_with_a_hint() {
        for (sections, word) in [
            (json!({ "politeness": { "host_dely": "1s" } }), "did you mean `politeness.host_delay`"),
            (json!({ "politeness": { "host_delay": true } }), "politeness.host_delay"),
            (json!({ "scope": 3 }), "scope"),
            (json!({ "politeness": { "host_delay": null } }), "null"),
        ] {
            let error = read(sections).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
