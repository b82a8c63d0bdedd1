//! What a fetch is asked for.

use std::time::Duration;

use super::memory::Share;
use crate::frontier::Validators;

/// One URL to get, and how.
#[derive(Debug)]
pub(super) struct Ask<'a> {
    pub(super) url: &'a str,
    /// It is known, and wanted only if it has changed.
    pub(super) changed: Option<&'a Validators>,
    /// Nobody knows yet whether its host ever answers: shorter clocks hold.
    pub(super) is_first_contact: bool,
    /// Of a body that nobody will read, because it is no HTML or not the page that was asked for, the start is enough.
    pub(super) only_html: bool,
    /// Where room for the body is taken; without one, there is always enough.
    pub(super) share: Option<&'a mut Share>,
}

impl<'a> Ask<'a> {
    /// For the whole of it, whatever it is.
    pub(super) fn whole(url: &'a str) -> Self {
        Self { url, changed: None, is_first_contact: false, only_html: false, share: None }
    }

    /// Takes as much memory as so many bytes of a body need, or gives back what is more; how long it waited.
    pub(super) async fn make_room(&mut self, bytes: usize) -> Duration {
        match &mut self.share {
            Some(share) => share.resize(bytes as u64).await,
            None => Duration::ZERO,
        }
    }
}
