//! Which settings the other commands share with the crawl.

use super::setting::Setting;

/// The setting that simulates the web.
pub(super) const SIMULATED: &str = "simulate.enabled";

/// Whether a filter outside a crawl has this setting too.
pub(super) fn is_seen(setting: &Setting) -> bool {
    setting.section() == "seen"
}

/// Whether `crawler sitemap` has this setting too.
pub(super) fn is_of_sitemaps(setting: &Setting) -> bool {
    ["fetch", "sitemaps"].contains(&setting.section()) && setting.key != "sitemaps.enabled"
}

/// Whether `crawler extract` has this setting too.
pub(super) fn is_of_page(setting: &Setting) -> bool {
    setting.section() == "fetch"
}

/// Whether the simulated web, or the judge of its crawlers, has this setting.
pub(super) fn is_of_simulated_web(setting: &Setting) -> bool {
    let rules = [
        "parse.nofollow",
        "politeness.connections_per_host",
        "politeness.host_delay",
        "politeness.robots",
        "scope.kind",
        "scope.max_depth",
        "sitemaps.enabled",
    ];
    setting.section() == "simulate" && setting.key != SIMULATED || rules.contains(&setting.key)
}

/// Whether a setting chooses which records are written, and how.
pub(super) fn is_of_filter(setting: &Setting) -> bool {
    ["output.formulas", "output.status", "output.types", "output.urls"].contains(&setting.key)
}

/// Whether a resumed crawl may be given this setting. Its seeds and its directory are fixed.
pub(super) fn is_resumable(setting: &Setting) -> bool {
    !["crawl.seeds", "crawl.urls", "job.add", "job.dir", "job.overwrite"].contains(&setting.key)
}

/// Whether a flag or a variable for this setting applies to one run only, and is not kept for the job's later runs.
pub(super) fn is_of_run(setting: &Setting) -> bool {
    ["crawl.max_duration", "output.json", "output.log", "output.progress"].contains(&setting.key)
}

/// Whether the commands of the cluster admin have this setting too.
pub(super) fn is_of_cluster(setting: &Setting) -> bool {
    is_of_servers(setting) || setting.key == "cluster.name"
}

/// Whether a setting names the servers of a cluster.
pub(super) fn is_of_servers(setting: &Setting) -> bool {
    setting.key == "cluster.servers"
}
