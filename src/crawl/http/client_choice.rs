//! The choice of a client.

/// The name of the client that fetches. To give a crawl a client of your own, see [`Crawl::client`](crate::crawl::Crawl::client).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientChoice(&'static str);

impl ClientChoice {
    pub(super) const fn named(name: &'static str) -> Self {
        Self(name)
    }

    /// Its name in settings.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl Default for ClientChoice {
    fn default() -> Self {
        Self::DIRECT
    }
}
