use std::collections::{HashSet, VecDeque};

use super::links::Link;
use super::page::{Kind, Page};
use super::world::{PageId, World};

/// What the ideal crawl is like that a real one is compared with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TruthOptions {
    /// Where it starts; empty is the portal.
    pub seeds: Vec<PageId>,
    /// It honors robots.txt.
    pub robots: bool,
    /// It honors nofollow, on links and on pages.
    pub nofollow: bool,
    /// It stays on the hosts of its seeds; otherwise all hosts are in scope.
    pub seed_hosts_only: bool,
    /// Links from a seed at most; redirects add none. A real crawl may find a page by a longer way first, and then fetch
    /// less: with a limit the truth is an upper bound.
    pub max_depth: Option<u32>,
    /// Pages that it passes by as if nothing led there: what becomes unreachable was lost with them.
    pub without: HashSet<PageId>,
}

impl Default for TruthOptions {
    fn default() -> Self {
        Self {
            seeds: Vec::new(),
            robots: true,
            nofollow: true,
            seed_hosts_only: false,
            max_depth: None,
            without: HashSet::new(),
        }
    }
}

/// How a page stands to the ideal crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// To be fetched, whatever it answers.
    Reachable,
    /// A followed link leads there, and robots.txt forbids it.
    Forbidden,
    /// Only links that may not be followed lead there, or others behind those.
    OnlyNofollow,
    /// Nothing leads there: beyond forbidden pages, the depth, or the scope.
    Unreachable,
}

/// What an ideal crawl fetches, from the model of the world: no HTML is parsed, no address compared. One byte a page.
#[derive(Clone, Debug)]
pub struct Truth {
    standings: Vec<Standing>,
    options: TruthOptions,
}

impl World {
    /// Walks the world's links; takes about as long as rendering one page in twenty.
    pub fn truth(&self, options: &TruthOptions) -> Truth {
        let seeds = if options.seeds.is_empty() { vec![PageId::PORTAL] } else { options.seeds.clone() };
        let mut walk = Walk {
            world: self,
            options,
            seed_hosts: seeds.iter().map(|seed| seed.host).collect(),
            standings: vec![Standing::Unreachable; self.pages() as usize],
            nofollow: Vec::new(),
        };
        walk.from(seeds.into_iter().map(|seed| (seed, 0)).collect(), Standing::Reachable);
        let nofollow = std::mem::take(&mut walk.nofollow);
        walk.from(nofollow.into(), Standing::OnlyNofollow);
        Truth { standings: walk.standings, options: options.clone() }
    }
}

impl Truth {
    /// What the crawl is like.
    pub fn options(&self) -> &TruthOptions {
        &self.options
    }

    /// How a page stands to it.
    ///
    /// # Panics
    /// Where the page is of another world.
    pub fn standing(&self, world: &World, id: PageId) -> Standing {
        self.standings[world.place(id)]
    }

    /// How many pages stand like this.
    pub fn count(&self, standing: Standing) -> u64 {
        self.standings.iter().filter(|&&known| known == standing).count() as u64
    }
}

struct Walk<'a> {
    world: &'a World,
    options: &'a TruthOptions,
    seed_hosts: HashSet<u32>,
    standings: Vec<Standing>,
    /// Where the links lead that are not followed.
    nofollow: Vec<(PageId, u32)>,
}

impl Walk<'_> {
    /// By depth: links behind everything known, redirects before.
    fn from(&mut self, mut queue: VecDeque<(PageId, u32)>, standing: Standing) {
        let honored = self.options.nofollow && standing == Standing::Reachable;
        while let Some((id, depth)) = queue.pop_front() {
            let page = self.world.page(id);
            if !self.take(&page, id, depth, standing) {
                continue;
            }
            match page.kind() {
                Kind::Redirect { to, .. } => queue.push_front((self.world.hop(&page, to), depth)),
                Kind::Html | Kind::Flaky { .. } | Kind::Respelled => {
                    let whole_page = page.nofollow().is_some();
                    for Link { to, nofollow, .. } in self.world.links(&page) {
                        let refused = honored && (nofollow || whole_page);
                        if refused { self.nofollow.push((to, depth + 1)) } else { queue.push_back((to, depth + 1)) }
                    }
                }
                Kind::Dead { .. } | Kind::File => {}
            }
        }
    }

    /// Whether the page is fetched now.
    fn take(&mut self, page: &Page, id: PageId, depth: u32, standing: Standing) -> bool {
        let place = self.world.place(id);
        if self.standings[place] != Standing::Unreachable
            || self.options.max_depth.is_some_and(|most| depth > most)
            || (self.options.seed_hosts_only && !self.seed_hosts.contains(&id.host))
            || self.options.without.contains(&id)
        {
            return false;
        }
        let allowed = !self.options.robots || self.world.robots(&page.host).allow(page);
        if allowed || standing == Standing::Reachable {
            self.standings[place] = if allowed { standing } else { Standing::Forbidden };
        }
        allowed
    }
}
