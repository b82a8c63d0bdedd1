//! The links of a page.

use super::dice::Dice;
use super::page::{Hop, PageKind, WorldPage};
use super::world::{PageId, World};

/// A link of the model; its spelling and its markup follow from its dice.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorldLink {
    pub(super) to: PageId,
    pub(super) nofollow: bool,
    pub(super) dice: Dice,
}

const DUPLICATE: u64 = 401;
const TREE: u64 = 402;
const AWAY: u64 = 403;

impl World {
    /// The links of an HTML page. It links to each of its children in its host's tree, so that each page is linked to at least once. Its
    /// other links lead to pages that are linked to already, as most links of real pages do.
    pub(super) fn links(&self, page: &WorldPage) -> Vec<WorldLink> {
        let host = &page.host;
        let mut links = Vec::new();
        // 93 of 100 pages are HTML, and their links make up for the others.
        let share = u32::from(self.options().duplicate_percent);
        let hundredths = share * 100 * 100 / (100 - share) / 93;
        let dice = page.dice.on(DUPLICATE);
        let count = hundredths / 100 + u32::from(dice.below(100) < hundredths % 100);
        for nth in 0..count {
            let dice = dice.on(u64::from(nth));
            links.push(WorldLink { to: self.well_known(page, dice), nofollow: dice.on(1).per_mille(30), dice });
        }
        let dice = page.dice.on(TREE);
        let mut tree = |to: PageId, nofollow| {
            let dice = dice.on(u64::from(to.host) << 32 | u64::from(to.number));
            links.push(WorldLink { to, nofollow: nofollow && dice.on(1).per_mille(10), dice });
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

    /// The front page, the parent page, or a popular page of this host or another.
    fn well_known(&self, page: &WorldPage, dice: Dice) -> PageId {
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

    /// The target of a redirect.
    pub(super) fn hop(&self, page: &WorldPage, hop: Hop) -> PageId {
        let at = |number| PageId { host: page.host.index, number };
        match hop {
            Hop::Next => at(page.number + 1),
            Hop::Previous => at(page.number - 1),
            Hop::Away => {
                let dice = page.dice.on(AWAY);
                let candidate = |nth: u64| self.at(dice.on(nth).below(self.pages()));
                // A chain has three hops at most, so this hop leads to a page that does not redirect.
                (0..4)
                    .map(candidate)
                    .find(|&id| self.page(id).kind() == PageKind::Html)
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
