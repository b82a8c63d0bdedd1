//! The truth: the pages that an ideal crawl of the world fetches, computed from the world's links.

use std::collections::{HashSet, VecDeque};

use super::host::{PageKind, WorldPage};
use super::links::WorldLink;
use super::world::{PageId, World};

/// The options of the ideal crawl that a real one is compared with.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a rule that a crawl may leave out")]
pub struct TruthOptions {
    /// Where it starts; at the portal if empty.
    pub seeds: Vec<PageId>,
    /// It honors robots.txt.
    pub robots: bool,
    /// It reads the sitemaps that robots.txt names. If it ignores robots.txt, it looks for sitemaps on the seeds' hosts, but only if it
    /// stays on these hosts.
    pub sitemaps: bool,
    /// It honors nofollow, on links and on pages.
    pub nofollow: bool,
    /// It stays on the hosts of its seeds; otherwise all hosts are in scope.
    pub seed_hosts_only: bool,
    /// It follows at most this many links from a seed; redirects do not count. A real crawl may find a page by a longer path first, and then
    /// fetch fewer pages: with a limit, the truth is an upper bound.
    pub max_depth: Option<u32>,
    /// Pages that it ignores, as if nothing linked to them. Pages to which only these lead are unreachable, too.
    pub without: HashSet<PageId>,
}

impl Default for TruthOptions {
    fn default() -> Self {
        Self {
            seeds: Vec::new(),
            robots: true,
            sitemaps: true,
            nofollow: true,
            seed_hosts_only: false,
            max_depth: None,
            without: HashSet::new(),
        }
    }
}

/// What the ideal crawl does with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// It fetches the page, whatever the answer.
    Reachable,
    /// A followed link leads there, but robots.txt forbids it.
    Forbidden,
    /// Only links that may not be followed lead there, directly or through other pages.
    OnlyNofollow,
    /// Nothing leads there: it is beyond forbidden pages, the depth or the scope.
    Unreachable,
}

/// The pages that an ideal crawl fetches. No HTML is parsed for it, and no address is compared. It takes one byte a page.
#[derive(Clone, Debug)]
pub struct Truth {
    reaches: Vec<Reach>,
    options: TruthOptions,
}

impl World {
    /// Walks the world's links. This takes about a twentieth of the time of rendering all pages.
    pub fn truth(&self, options: &TruthOptions) -> Truth {
        let seeds = if options.seeds.is_empty() { vec![PageId::PORTAL] } else { options.seeds.clone() };
        let mut walk = Walk {
            world: self,
            options,
            seed_hosts: seeds.iter().map(|seed| seed.host).collect(),
            reaches: vec![Reach::Unreachable; self.pages() as usize],
            nofollow: Vec::new(),
            asked: HashSet::new(),
        };
        walk.from(seeds.into_iter().map(|seed| (seed, 0)).collect(), Reach::Reachable);
        let nofollow = std::mem::take(&mut walk.nofollow);
        walk.from(nofollow.into(), Reach::OnlyNofollow);
        Truth { reaches: walk.reaches, options: options.clone() }
    }
}

impl Truth {
    /// The options of the ideal crawl.
    pub fn options(&self) -> &TruthOptions {
        &self.options
    }

    /// What the ideal crawl does with a page.
    ///
    /// # Panics
    /// If the page belongs to another world.
    pub fn reach(&self, world: &World, id: PageId) -> Reach {
        self.reaches[world.place(id)]
    }

    /// The number of pages with this reach.
    pub fn count(&self, reach: Reach) -> u64 {
        self.reaches.iter().filter(|&&known| known == reach).count() as u64
    }
}

struct Walk<'a> {
    world: &'a World,
    options: &'a TruthOptions,
    seed_hosts: HashSet<u32>,
    reaches: Vec<Reach>,
    /// The targets of links that are not followed.
    nofollow: Vec<(PageId, u32)>,
    /// The hosts whose robots.txt was read.
    asked: HashSet<u32>,
}

impl Walk<'_> {
    /// Visits the pages of a queue, by depth: links go to its back, redirects to its front.
    fn from(&mut self, mut queue: VecDeque<(PageId, u32)>, reach: Reach) {
        let honored = self.options.nofollow && reach == Reach::Reachable;
        while let Some((id, depth)) = queue.pop_front() {
            let page = self.world.page(id);
            let is_taken = self.take(&page, id, depth, reach);
            if reach == Reach::Reachable && self.reaches[self.world.place(id)] != Reach::Unreachable {
                queue.extend(self.listed(&page));
            }
            if !is_taken {
                continue;
            }
            match page.kind() {
                PageKind::Redirect { to, .. } => queue.push_front((self.world.hop(&page, to), depth)),
                PageKind::Html | PageKind::Flaky { .. } | PageKind::Respelled => {
                    let whole_page = page.nofollow().is_some();
                    for WorldLink { to, nofollow, .. } in self.world.links(&page) {
                        let refused = honored && (nofollow || whole_page);
                        if refused { self.nofollow.push((to, depth + 1)) } else { queue.push_back((to, depth + 1)) }
                    }
                }
                PageKind::Dead { .. } | PageKind::File => {}
            }
        }
    }

    /// The pages that the sitemaps of a page's host list; none if they were read before.
    fn listed(&mut self, page: &WorldPage) -> Vec<(PageId, u32)> {
        let TruthOptions { robots, seed_hosts_only, sitemaps, max_depth, .. } = *self.options;
        let is_read = sitemaps && (robots || seed_hosts_only) && max_depth != Some(0);
        if !is_read || !self.asked.insert(page.host.index) {
            return Vec::new();
        }
        self.world.listed(&page.host).into_iter().map(|id| (id, 1)).collect()
    }

    /// Visits a page, and returns whether it is fetched now.
    fn take(&mut self, page: &WorldPage, id: PageId, depth: u32, reach: Reach) -> bool {
        let place = self.world.place(id);
        if self.reaches[place] != Reach::Unreachable
            || self.options.max_depth.is_some_and(|most| depth > most)
            || (self.options.seed_hosts_only && !self.seed_hosts.contains(&id.host))
            || self.options.without.contains(&id)
        {
            return false;
        }
        let allowed = !self.options.robots || self.world.robots(&page.host).allow(page);
        if allowed || reach == Reach::Reachable {
            self.reaches[place] = if allowed { reach } else { Reach::Forbidden };
        }
        allowed
    }
}
