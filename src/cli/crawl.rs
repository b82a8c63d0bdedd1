//! `crawler`: the crawl itself, from settings to report.

use super::exit::{Exit, Failure};
use super::layers::Layers;
use super::output;
use super::progress::Screen;

/// Crawls, tells how far it is, and prints the report.
pub(super) fn crawl(layers: &Layers) -> Result<Exit, Failure> {
    let settings = &layers.settings;
    if settings.seeds.files.is_empty() && settings.seeds.urls.is_empty() && !settings.simulate.enabled {
        return Err(Failure::new(Exit::Usage, "nothing to crawl: give URLs or --seeds FILE (see --help)"));
    }
    let screen = Screen::new();
    output::start_log(&settings.output.log, &screen)?;
    if !settings.crawl.frontier.politeness.robots {
        output::warn("robots.txt is ignored, in every host: crawl so only what is yours");
    }
    Err(Failure::new(Exit::Failed, "the crawl is not built yet"))
}
