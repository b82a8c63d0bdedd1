//! The simulated web, which judges its crawlers: `crawler simulate` serves it to other processes, and `--simulate` serves it to the crawl
//! in this process.

use std::path::Path;

use tokio::sync::oneshot;

use super::command_error::{CommandError, Exit};
use super::layers::Layers;
use super::output::{note, print};
use super::request::SimulateRequest;
use super::signals;
use crate::address::CanonicalUrl;
use crate::crawl::{CrawlOptions, FinishReason, Finished, raise_open_files};
use crate::driver::own::replace;
use crate::gate::ScopeKind;
use crate::report;
use crate::report::figures::thousands;
use crate::simulate::{Judgment, Server, TruthOptions, World};

/// Serves the web until the first Ctrl-C or SIGTERM, and prints the judgment.
///
/// The judge knows only the settings of this command. For a crawler with another delay, set the same delay here. The
/// judge does not know the crawlers' filters either, so each missed page counts.
pub(super) fn simulate(layers: &Layers, request: &SimulateRequest) -> Result<Exit, CommandError> {
    let SimulateRequest { listen, address_file, seeds_file, json } = request;
    if !listen.ip().is_loopback() {
        let message = format!("--listen {listen}: not an address of this machine alone, such as 127.0.0.1:8000");
        return Err(CommandError::new(Exit::Usage, message));
    }
    let world = world(layers)?;
    // Each connection of each crawler is an open file here too.
    raise_open_files();
    let (stop, stopped) = oneshot::channel();
    signals::at_first(move |_| _ = stop.send(())).map_err(CommandError::of(Exit::Failed, "signals"))?;
    let judgment = signals::block_on(async {
        let server = Server::start_at(world, *listen).await;
        let server = server.map_err(CommandError::of(Exit::Failed, format!("cannot serve at {listen}")))?;
        let (address, seeds) = (server.address(), server.world().seeds().join("\n"));
        keep(seeds_file.as_deref(), &seeds)?;
        keep(address_file.as_deref(), &address.to_string())?;
        print(|out| writeln!(out, "{address}"))?;
        note(&format!(
            "to crawl it: crawler --simulate --resolve-all-to {address} {seeds}; Ctrl-C ends it, and judges"
        ));
        // The signal is reported only once, and the thread that reports it ends with the process.
        _ = stopped.await;
        Ok(judge(layers, &server))
    })?;
    print(|out| {
        if !json {
            return writeln!(out, "{judgment}");
        }
        serde_json::to_writer_pretty(&mut *out, &judgment)?;
        writeln!(out)
    })?;
    let faults: Vec<_> = judgment.faults().map(|(what, count)| format!("{what} {}", thousands(count))).collect();
    if faults.is_empty() {
        return Ok(Exit::Done);
    }
    Err(CommandError::new(Exit::Failed, format!("the crawl has faults: {}", faults.join(", "))))
}

/// Compares the requests with the pages of an ideal crawl.
pub(super) fn judge(layers: &Layers, server: &Server) -> Judgment {
    let options = &layers.settings.crawl;
    let (world, politeness) = (server.world(), &options.frontier.politeness);
    let truth = world.truth(&ideal(options));
    server.judge().judgment(world, &truth, politeness.host_delay, politeness.connections_per_host)
}

/// Writes a line to a file, completely or not at all.
fn keep(path: Option<&Path>, line: &str) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    replace(path, format!("{line}\n").as_bytes()).map_err(CommandError::cannot(Exit::Failed, "write", path))
}

/// A served web, which knows the pages that a crawl of it should fetch.
pub(super) struct SimulatedWeb {
    server: Server,
}

impl SimulatedWeb {
    /// Serves a web on loopback, and makes every name resolve there.
    pub(super) async fn serve(layers: &Layers, options: &mut CrawlOptions) -> Result<Self, CommandError> {
        let server = Server::start(world(layers)?).await;
        let server = server.map_err(CommandError::of(Exit::Failed, "cannot serve the simulated web"))?;
        options.fetch.resolve_all_to = Some(server.address());
        Ok(Self { server })
    }

    /// Judges the crawl. The truth is a walk from the portal, the usual seed.
    pub(super) fn judge(&self, options: &CrawlOptions, finished: &Finished) -> report::Simulated {
        let (world, judge) = (self.server.world(), self.server.judge());
        let truth = world.truth(&ideal(options));
        let politeness = &options.frontier.politeness;
        let mut judgment = judge.judgment(world, &truth, politeness.host_delay, politeness.connections_per_host);
        let gate = &finished.gate;
        // Only for a drained crawl: otherwise the filter also holds URLs that are still queued, and these are not its losses.
        if finished.reason == FinishReason::Drained {
            let audit = gate.seen().statistics().merged.audit;
            // If every URL is audited, the filter cannot have lost more than the audit counted.
            let mut lost = audit.filter(|audit| audit.sample == 1).map_or(u64::MAX, |audit| audit.false_positives);
            judgment.explain(world, judge, &truth, |url| {
                let url = gate.canonicalizer().canonicalize(url);
                let claimed = url.is_ok_and(|url| gate.seen().contains(url.fingerprint(gate.fingerprint_key())));
                let by_filter = claimed && lost > 0;
                lost -= u64::from(by_filter);
                by_filter
            });
        }
        section(&judgment)
    }
}

/// Whether a URL may belong to a simulated web: its host name ends in `.test`, which no real one does (RFC 6761 section
/// 6.2), and it names no port, since something else on this machine may listen there.
pub(super) fn is_simulated(url: &CanonicalUrl) -> bool {
    url.host().rsplit('.').next() == Some("test") && url.origin().matches(':').count() == 1
}

/// The web that the settings describe.
pub(super) fn world(layers: &Layers) -> Result<World, CommandError> {
    World::new(&layers.settings.simulate.web).map_err(|error| {
        CommandError::new(Exit::Usage, layers.refusal(&format!("simulate.{}", error.option), error.reason))
    })
}

/// The ideal crawl with these options, to compare a crawl with.
fn ideal(options: &CrawlOptions) -> TruthOptions {
    let frontier = &options.frontier;
    TruthOptions {
        robots: frontier.politeness.robots,
        sitemaps: options.sitemaps.enabled,
        nofollow: options.parse.nofollow,
        seed_hosts_only: frontier.scope.kind != ScopeKind::Any,
        max_depth: frontier.scope.max_depth,
        ..TruthOptions::default()
    }
}

fn section(judgment: &Judgment) -> report::Simulated {
    report::Simulated {
        reachable: judgment.reachable,
        fetched: judgment.fetched,
        missed: judgment.missed,
        missed_by_filter: judgment.missed_by_filter.unwrap_or_default(),
        fetched_twice: judgment.fetched_twice,
        against_robots: judgment.fetched_against_robots,
        trapped: judgment.trapped,
        requests: judgment.requests,
        unknown_urls: judgment.unknown_urls,
        interval_violations: judgment.hosts_hurried + judgment.hosts_concurrent + judgment.before_retry_after,
    }
}
