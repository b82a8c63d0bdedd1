//! The simulated web for a crawl in this process: it is served before the crawl, and judges the crawl afterwards.

use super::command_error::CommandError;
use super::exit::Exit;
use super::layers::Layers;
use crate::address::CanonicalUrl;
use crate::crawl::{CrawlOptions, FinishReason, Finished};
use crate::gate::ScopeKind;
use crate::report;
use crate::simulate::{Judgment, Server, TruthOptions, World};

/// A served web, which knows what a crawl of it should fetch.
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
        // Only for a drained crawl: otherwise the filter also holds URLs that are still queued, which is not its error.
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
pub(super) fn ideal(options: &CrawlOptions) -> TruthOptions {
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
