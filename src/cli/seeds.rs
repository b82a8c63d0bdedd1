//! The seeds of a crawl: lists and single URLs, into its frontier.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use super::exit::{Exit, Failure};
use super::output;
use super::settings::SeedSettings;
use crate::address::{SeedError, SeedList};
use crate::crawl::Crawl;
use crate::frontier::{Journal, Refusal};

/// Every list, opened: one that is missing is told before anything is written or sent.
pub(super) struct Seeds {
    lists: Vec<(String, Box<dyn BufRead>)>,
}

impl Seeds {
    /// Opens the lists; URLs given one by one are a list too.
    pub(super) fn open(settings: &SeedSettings) -> Result<Self, Failure> {
        let mut lists: Vec<(String, Box<dyn BufRead>)> = Vec::new();
        for name in &settings.files {
            let list: Box<dyn BufRead> = if name == "-" {
                Box::new(io::stdin().lock())
            } else {
                let file = File::open(name)
                    .map_err(|error| Failure::caused(Exit::Usage, &format!("cannot read the seeds {name}"), &error))?;
                Box::new(BufReader::with_capacity(64 * 1024, file))
            };
            lists.push((name.clone(), list));
        }
        if !settings.urls.is_empty() {
            let urls = settings.urls.join("\n");
            lists.push(("URL".to_owned(), Box::new(io::Cursor::new(urls))));
        }
        Ok(Self { lists })
    }

    /// None were given.
    pub(super) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Gives them to the crawl. A bad line is told, and the others follow.
    pub(super) fn plant<J: Journal + Send + 'static>(self, crawl: &Crawl<J>) -> Result<(), Failure> {
        let (mut taken, mut refused) = (0, 0);
        for (name, list) in self.lists {
            for seed in SeedList::new(list, name.clone(), crawl.gate().canonicalizer()) {
                match seed {
                    Ok(seed) => {
                        if seed.assumed_https {
                            tracing::info!(list = name, line = seed.line, url = seed.url.wire(), "taken as https");
                        }
                        let refusal = crawl
                            .seed(seed.url)
                            .map_err(|error| Failure::caused(Exit::Failed, "cannot keep the seeds", &error))?;
                        match refusal {
                            None => taken += 1,
                            // The same seed twice is no fault.
                            Some(Refusal::Seen) => {}
                            Some(refusal) => {
                                refused += 1;
                                output::warn(&format!("{name}:{}: refused: {refusal}", seed.line));
                            }
                        }
                    }
                    Err(error @ SeedError::Read { .. }) => {
                        return Err(Failure::caused(Exit::Failed, "seeds", &error));
                    }
                    Err(error) => {
                        refused += 1;
                        output::warn(&error.to_string());
                    }
                }
            }
        }
        crawl.count_seeds(taken, refused);
        Ok(())
    }
}
