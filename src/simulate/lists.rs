//! The pages of the portal that link to every host.

use super::host::WorldHost;

/// How the portal links to each host: on its front page, or on list pages to which the front page links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists {
    /// List pages besides the front page.
    pub(super) pages: u32,
    hosts_per_list: u32,
}

/// Links on one page: fewer than crawlers take from a page.
const MOST_LINKS: u32 = 5_000;

impl Lists {
    /// `None` if the portal has too few pages.
    pub(super) fn new(hosts: u32, portal: &WorldHost) -> Option<Self> {
        let others = hosts - 1;
        let lists = others.div_ceil(others.isqrt().max(50)).clamp(1, portal.pages - portal.sections);
        let hosts_per_list = others.div_ceil(lists);
        (hosts_per_list <= MOST_LINKS && lists <= MOST_LINKS).then_some(Self { pages: lists - 1, hosts_per_list })
    }

    /// The hosts to which list number `list` links; 0 is the front page.
    pub(super) fn hosts(self, list: u32, hosts: u32) -> std::ops::Range<u32> {
        let first = 1 + list * self.hosts_per_list;
        first.min(hosts)..(first + self.hosts_per_list).min(hosts)
    }
}
