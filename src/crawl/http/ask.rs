//! What a fetch is asked for.

use std::time::Duration;

use crate::crawl::bounds::Share;
use crate::frontier::Validators;

/// One URL to get, and how.
#[derive(Debug)]
pub(in crate::crawl) struct Ask<'a> {
    pub(in crate::crawl) url: &'a str,
    /// It is known, and wanted only if it has changed.
    pub(in crate::crawl) changed: Option<&'a Validators>,
    /// Nobody knows yet whether its host ever answers: shorter clocks hold.
    pub(in crate::crawl) is_first_contact: bool,
    /// Of a body that nobody will read, because it is no HTML or not the page that was asked for, the start is enough.
    pub(in crate::crawl) only_html: bool,
    /// The response is wanted as it came, too.
    pub(in crate::crawl) keeps_exchange: bool,
    /// Where room for the body is taken; without one, there is always enough.
    pub(in crate::crawl) share: Option<&'a mut Share>,
}

impl<'a> Ask<'a> {
    /// For the whole of it, whatever it is.
    pub(in crate::crawl) fn whole(url: &'a str) -> Self {
        Self { url, changed: None, is_first_contact: false, only_html: false, keeps_exchange: false, share: None }
    }

    /// Takes as much memory as so many bytes of a body need, or gives back what is more; how long it waited.
    pub(in crate::crawl) async fn make_room(&mut self, bytes: usize) -> Duration {
        match &mut self.share {
            Some(share) => share.resize(bytes as u64).await,
            None => Duration::ZERO,
        }
    }
}
