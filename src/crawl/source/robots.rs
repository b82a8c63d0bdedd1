//! A host's robots.txt. The frontier reads its rules.

use super::{ReadLinks, UrlSource};
use crate::crawl::http::Response;
use crate::crawl::numbers::Tally;
use crate::crawl::records::PageRecord;
use crate::frontier::{Failure, Outcome, Robots, Trouble};

/// A host's robots.txt.
pub(super) struct RobotsSource;

impl UrlSource for RobotsSource {
    fn is_recorded(&self) -> bool {
        false
    }

    fn wants_html(&self) -> bool {
        false
    }

    fn outcome(&self, response: &Response) -> Outcome {
        // Nobody can read rules in a coding that is not known. Taken as text, they would allow everything.
        if response.raw {
            return Outcome::Failed(Trouble::new(Failure::BadResponse, "in a content coding that is not known"));
        }
        let (status, retry_after) = (response.status, response.retry_after);
        let body = response.body[..response.body.len().min(Robots::MAX_BYTES + 1)].to_vec();
        Outcome::Robots { status, retry_after, body, validators: response.validators.clone() }
    }

    fn links(&self, _: &Response) -> Option<ReadLinks> {
        None
    }

    fn count(&self, tally: &mut Tally, is_done: bool, record: &PageRecord) {
        tally.robots.record(is_done, record);
    }
}
