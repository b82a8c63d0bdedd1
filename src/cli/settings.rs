//! Everything that can be set, as plain data: what the floors below take, and what only the command knows.

use std::path::PathBuf;

use crate::crawl::CrawlOptions;
use crate::frontier::ScopeKind;
use crate::simulate::SimulateOptions;

/// Every setting's value. A field is found by name through [`TABLE`](super::table::TABLE).
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// The product token for robots.txt, `X-Robots-Tag` and `<meta>`; `None` takes it from the User-Agent header.
    pub(super) agent: Option<String>,
    pub(super) crawl: CrawlOptions,
    pub(super) job: JobSettings,
    pub(super) output: OutputSettings,
    pub(super) seeds: SeedSettings,
    pub(super) simulate: SimulateSettings,
}

/// Where the crawl starts.
#[derive(Clone, Debug, Default)]
pub(super) struct SeedSettings {
    /// Seed lists: paths, or `-` for standard input.
    pub(super) files: Vec<String>,
    /// URLs given one by one.
    pub(super) urls: Vec<String>,
}

/// Where the crawl is kept.
#[derive(Clone, Debug)]
pub(super) struct JobSettings {
    /// The job directory.
    pub(super) dir: PathBuf,
    /// Empty a job directory that another crawl has filled.
    pub(super) overwrite: bool,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self { dir: "crawl".into(), overwrite: false }
    }
}

/// What the command says, and how.
#[derive(Clone, Debug)]
pub(super) struct OutputSettings {
    /// The final report as JSON.
    pub(super) json: bool,
    /// What is logged: directives of tracing's `EnvFilter`.
    pub(super) log: String,
    /// Where page records go.
    pub(super) pages: Pages,
    /// Say how far the crawl is while it runs.
    pub(super) progress: bool,
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self { json: false, log: "warn".to_owned(), pages: Pages::Job, progress: true }
    }
}

/// Where page records go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pages {
    /// To the job directory.
    Job,
    /// To standard output; what else would go there goes to standard error.
    StandardOutput,
}

/// The simulated web.
#[derive(Clone, Debug, Default)]
pub(super) struct SimulateSettings {
    /// Serve it, and crawl it instead of the real one.
    pub(super) enabled: bool,
    /// What it is like.
    pub(super) web: SimulateOptions,
}

impl Settings {
    /// Fills in what follows from other settings.
    ///
    /// # Errors
    /// The key to change, and why.
    pub(super) fn finish(&mut self) -> Result<(), (&'static str, &'static str)> {
        let agent = match &self.agent {
            Some(agent) => agent.as_str(),
            None => product_token(&self.crawl.fetch.user_agent)
                .ok_or(("fetch.user_agent", "starts with no product token: set politeness.agent"))?,
        };
        let agent = agent.to_owned();
        for place in
            [&mut self.crawl.fetch.agent, &mut self.crawl.frontier.politeness.agent, &mut self.crawl.parse.agent]
        {
            place.clone_from(&agent);
        }
        Ok(())
    }

    /// Looks for settings that are each in range and make no crawl together.
    ///
    /// # Errors
    /// The key to change, and why.
    pub(super) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let crawl = &self.crawl;
        let scope = &crawl.frontier.scope;
        let limited = scope.max_depth.is_some() || crawl.max_pages.is_some() || crawl.max_duration.is_some();
        if scope.kind == ScopeKind::Any && !limited && !self.simulate.enabled {
            return Err(("scope.kind", "the whole web needs a limit: --depth, --max-pages or --max-duration"));
        }
        if self.output.json && self.output.pages == Pages::StandardOutput {
            return Err(("output.json", "standard output takes the page records already"));
        }
        if self.seeds.files.iter().filter(|file| *file == "-").count() > 1 {
            return Err(("crawl.seeds", "standard input ends only once"));
        }
        Ok(())
    }
}

/// The name in a User-Agent header that robots.txt groups are matched with (RFC 9309 section 2.2.1), without its version.
fn product_token(user_agent: &str) -> Option<&str> {
    let ends = user_agent.find(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c)).unwrap_or(user_agent.len());
    (ends > 0).then(|| &user_agent[..ends])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::FetchOptions;
    use crate::frontier::Politeness;

    #[test]
    fn the_default_user_agent_and_product_token_agree() {
        assert_eq!(product_token(&FetchOptions::default().user_agent), Some(&*Politeness::default().agent));
    }
}
