use super::dice::Dice;
use super::host::Host;
use super::page::{Hop, Kind, Page};
use super::world::{PageId, World};

/// A link of the model; `spelling` and markup follow from its dice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) to: PageId,
    pub(super) nofollow: bool,
    pub(super) dice: Dice,
}

/// How the portal links to each host: on its front page, or on pages of their own behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists {
    /// List pages besides the front page.
    pub(super) pages: u32,
    hosts_per_list: u32,
}

const DUPLICATE: u64 = 401;
const TREE: u64 = 402;
const AWAY: u64 = 403;

/// Below what crawlers take from one page.
const MOST_LINKS: u32 = 5_000;

impl Lists {
    /// `None` where the portal has too few pages.
    pub(super) fn new(hosts: u32, portal: &Host) -> Option<Self> {
        let others = hosts - 1;
        let lists = others.div_ceil(others.isqrt().max(50)).clamp(1, portal.pages - portal.sections);
        let hosts_per_list = others.div_ceil(lists);
        (hosts_per_list <= MOST_LINKS && lists <= MOST_LINKS).then_some(Self { pages: lists - 1, hosts_per_list })
    }

    /// The hosts that the `list`-th of them links to, the front page being the first.
    fn hosts(self, list: u32, hosts: u32) -> std::ops::Range<u32> {
        let first = 1 + list * self.hosts_per_list;
        first.min(hosts)..(first + self.hosts_per_list).min(hosts)
    }
}

impl World {
    /// The links of a page with HTML: one to each child in its host's tree, so that each page is linked to once at least;
    /// the others lead where links of real pages lead, to pages that are linked to already.
    pub(super) fn links(&self, page: &Page) -> Vec<Link> {
        let host = &page.host;
        let mut links = Vec::new();
        // 93 of 100 pages are HTML, and make up for the others.
        let share = u32::from(self.options().duplicate_percent);
        let hundredths = share * 100 * 100 / (100 - share) / 93;
        let dice = page.dice.on(DUPLICATE);
        let count = hundredths / 100 + u32::from(dice.below(100) < hundredths % 100);
        for nth in 0..count {
            let dice = dice.on(u64::from(nth));
            links.push(Link { to: self.well_known(page, dice), nofollow: dice.on(1).per_mille(30), dice });
        }
        let dice = page.dice.on(TREE);
        let mut tree = |to: PageId, nofollow| {
            let dice = dice.on(u64::from(to.host) << 32 | u64::from(to.number));
            links.push(Link { to, nofollow: nofollow && dice.on(1).per_mille(10), dice });
        };
        let first_child = u64::from(page.number) * u64::from(host.fan) + 1;
        for number in first_child..(first_child + u64::from(host.fan)).min(u64::from(host.pages)) {
            #[expect(clippy::cast_possible_truncation, reason = "less than `pages`, a u32")]
            let number = number as u32;
            tree(PageId { host: host.index, number }, number >= host.fixed());
        }
        if host.index == 0 && (page.number == 0 || (host.sections + 1..host.fixed()).contains(&page.number)) {
            if page.number == 0 {
                (host.sections + 1..host.fixed()).for_each(|number| tree(PageId { host: 0, number }, false));
            }
            let list = page.number.saturating_sub(host.sections);
            self.lists.hosts(list, self.hosts()).for_each(|host| tree(PageId { host, number: 0 }, false));
        }
        links
    }

    /// The front page, the page above, a popular page of this host or of another.
    fn well_known(&self, page: &Page, dice: Dice) -> PageId {
        let host = &page.host;
        match dice.below(100) {
            0..35 => PageId { host: host.index, number: 0 },
            35..55 if page.number > 0 => PageId { host: host.index, number: (page.number - 1) / host.fan },
            35..80 => popular(host.index, host.pages, dice.on(2)),
            _ => {
                let host = self.at(dice.on(3).below(self.pages())).host;
                popular(host, self.pages_of(host), dice.on(2))
            }
        }
    }

    /// Where a redirect of the model leads.
    pub(super) fn hop(&self, page: &Page, hop: Hop) -> PageId {
        let at = |number| PageId { host: page.host.index, number };
        match hop {
            Hop::Next => at(page.number + 1),
            Hop::Previous => at(page.number - 1),
            Hop::Away => {
                let dice = page.dice.on(AWAY);
                let candidate = |nth: u64| self.at(dice.on(nth).below(self.pages()));
                // A chain has three hops at most: this one is followed by none.
                (0..4)
                    .map(candidate)
                    .find(|&id| self.page(id).kind() == Kind::Html)
                    .unwrap_or_else(|| PageId { number: 0, ..candidate(0) })
            }
        }
    }
}

/// The lower the number, the likelier: the density falls like a logarithm.
fn popular(host: u32, pages: u32, dice: Dice) -> PageId {
    let (one, two) = (u64::from(dice.below(pages)), u64::from(dice.on(1).below(pages)));
    #[expect(clippy::cast_possible_truncation, reason = "less than `pages`, a u32")]
    PageId { host, number: (one * two / u64::from(pages)) as u32 }
}
