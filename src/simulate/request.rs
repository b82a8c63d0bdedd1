//! Finds the page that a request asks for, in any spelling of its address. It may be a page of an endless site: a trap, in which a crawler
//! must not be caught.
//!
//! | host | endless are its | text of its pages |
//! |---|---|---|
//! | `calendar` | months | their days |
//! | `shop` | session ids: each link has a new one in its path | 40 pages, whatever the session |
//! | `facets` | orders of six filters in a path | one list for each set of filters |
//! | `filters` | combinations of eight filters and an order in a query | the things that are left of 30, each with a page of its own |
//! | `maze` | paths: each room has doors to three more | one of four texts |
//! | `mirror` | nothing: it is the portal again, on another host | the portal's text |
//! | `forum` | nothing, but it has many links to edit posts and to reply | 500 for an edit; for a reply, a redirect to the sign-in page |
//! | `*.wild-simulated.test` | hosts | the host's name, and the same text on each host |
//!
//! None of these sites is part of the truth. The portal links to all of them, and none has a robots.txt.

use super::dice::Dice;
use super::host::{MOVED, SITEMAP, SITEMAP_PARTS, WorldPage};
use super::world::{PageId, World};

/// The target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asked {
    /// A page.
    Page {
        /// The page.
        id: PageId,
        /// Whether its address had a session id.
        session: bool,
    },
    /// A host's robots.txt.
    Robots {
        /// The host.
        host: u32,
        /// Whether the client followed the redirect of the first answer.
        moved: bool,
    },
    /// A host's sitemap, whether there is one or not.
    Sitemap {
        /// The host.
        host: u32,
        /// 0 is the one that its robots.txt names, or would name.
        file: u8,
    },
    /// A page of an endless site.
    Trap {
        /// The page.
        trap: Trap,
        /// Host and path.
        at: String,
    },
    /// No page of this world: a link that was resolved wrongly, or made up.
    Unknown,
}

impl World {
    /// The target of a request. It is found from each spelling that the world itself writes, after a client has resolved it. The crawler's own
    /// rules are not used here, so that their errors show.
    pub fn find(&self, host: &str, path_and_query: &str) -> Asked {
        let host = host.strip_suffix(":80").unwrap_or(host);
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if self.options().trap
            && let Some(asked) = self.find_trap(&host, path_and_query)
        {
            return asked;
        }
        let Some(host) = self.find_host(&host) else { return Asked::Unknown };
        match path_and_query {
            "/robots.txt" => return Asked::Robots { host, moved: false },
            MOVED => return Asked::Robots { host, moved: true },
            SITEMAP => return Asked::Sitemap { host, file: 0 },
            path if path == SITEMAP_PARTS[0] => return Asked::Sitemap { host, file: 1 },
            path if path == SITEMAP_PARTS[1] => return Asked::Sitemap { host, file: 2 },
            _ => {}
        }
        let (path, session) = plain(path_and_query);
        match self.find_page(host, &path) {
            Some(id) => Asked::Page { id, session },
            None => Asked::Unknown,
        }
    }

    /// The page of a trap that a request asks for; `None` if it is not in a trap.
    fn find_trap(&self, host: &str, path: &str) -> Option<Asked> {
        let mirrored = || match self.find(&self.host_name(0), path) {
            Asked::Page { id, .. } => Some(id),
            _ => None,
        };
        let trap = Trap::of(self.dice, host, path, mirrored)?;
        Some(Asked::Trap { trap, at: format!("{host}{path}") })
    }

    fn find_host(&self, name: &str) -> Option<u32> {
        let index = match name.strip_suffix(".test")?.rsplit_once('-') {
            Some((_, number)) => number.parse().ok()?,
            None => 0,
        };
        (index < self.hosts() && self.host_name(index) == name).then_some(index)
    }

    fn find_page(&self, host: u32, path: &str) -> Option<PageId> {
        let host = self.host(host);
        let is = |number: &u32| *number < host.pages && WorldPage::new(host, *number).path() == path;
        let number = match label(path) {
            // The second of two twins has the first one's label.
            Some(label) => [label, label.checked_add(1)?].into_iter().find(is),
            None => (0..=host.sections).find(is),
        };
        Some(PageId { host: host.index, number: number? })
    }
}

/// The number after the first hyphen that is followed by digits.
fn label(path: &str) -> Option<u32> {
    path.split('-').skip(1).find_map(|rest| {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest[..digits].parse().ok()
    })
}

/// The world's key of a request's path and query, and whether it had a session id.
fn plain(path_and_query: &str) -> (String, bool) {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let (path, mut session) = match path.split_once(";jsessionid=") {
        Some((path, _)) => (path, true),
        None => (path, false),
    };
    let mut parameters: Vec<&str> = query
        .split('&')
        .filter(|parameter| {
            let name = parameter.split('=').next().unwrap_or_default();
            session |= name == "PHPSESSID";
            let dropped = ["PHPSESSID", "gclid", "fbclid", "msclkid", ""].contains(&name) || name.starts_with("utm_");
            !dropped
        })
        .collect();
    parameters.sort_unstable();
    let mut plain = unescape(path);
    if !parameters.is_empty() {
        plain.push('?');
        plain.push_str(&unescape(&parameters.join("&")));
    }
    (plain, session)
}

/// Decodes escaped unreserved characters (RFC 3986 section 2.3). Other escapes get upper-case digits.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(percent) = rest.find('%') {
        plain.push_str(&rest[..percent]);
        let escape = rest.get(percent..percent + 3).unwrap_or(&rest[percent..]);
        match u8::from_str_radix(&escape[1..], 16) {
            Ok(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => plain.push(char::from(byte)),
            _ => plain.push_str(&escape.to_ascii_uppercase()),
        }
        rest = &rest[percent + escape.len()..];
    }
    plain + rest
}

/// A page of an endless site.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trap {
    /// A robots.txt, which is missing.
    Robots,
    /// A month.
    Month(u64),
    /// A page of the shop, in some session.
    Shop(u32),
    /// A filtered list; the bits are its filters.
    Facets(u8),
    /// Things filtered by a query; the bits are its filters, and the last one is the order.
    Filters(u16),
    /// One of the things that are filtered.
    Thing(u32),
    /// A room of the maze, by the number of its text.
    Maze(u8),
    /// A page of the portal, on the mirror.
    Mirror(PageId),
    /// The one page of the forum.
    Forum,
    /// A page to edit a post, which the forum cannot do.
    Edit,
    /// A page to reply to a post, which only users may do.
    Reply,
    /// The page where users sign in.
    SignIn,
    /// Any page of a host that was never set up.
    Wild,
}

/// The hosts of the traps. `WILD` is the end of the names of all wild hosts.
pub(super) const CALENDAR: &str = "calendar.simulated.test";
pub(super) const SHOP: &str = "shop.simulated.test";
pub(super) const FACETS: &str = "facets.simulated.test";
pub(super) const QUERIES: &str = "filters.simulated.test";
pub(super) const MAZE: &str = "maze.simulated.test";
pub(super) const MIRROR: &str = "mirror.simulated.test";
pub(super) const FORUM: &str = "forum.simulated.test";
pub(super) const WILD: &str = ".wild-simulated.test";
/// The filters of the lists on `facets`.
pub(super) const FILTERS: [&str; 6] = ["red", "small", "cheap", "new", "sold", "local"];
/// The parameters on `filters`: the last one is the order, the others filter things.
pub(super) const PARAMETERS: [&str; 9] = ["brand", "colour", "deal", "fit", "kind", "price", "size", "year", "order"];
/// Things that are filtered.
pub(super) const THINGS: u32 = 30;
/// Pages of the shop.
pub(super) const SHOP_PAGES: u32 = 40;
/// Pages of the forum that fail: more than the number of failures in a row after which a host is given up.
pub(super) const EDITS: u32 = 36;
/// Pages of the forum that all redirect to one.
pub(super) const REPLIES: u32 = 200;
/// The page that replies redirect to.
pub(super) const SIGN_IN: &str = "/sign-in";

pub(super) const SALT: u64 = 801;

impl Trap {
    /// The page of a trap that a request asks for; `None` if it is not in a trap. `mirrored` returns the portal's page at this path.
    pub(super) fn of(world: Dice, host: &str, path: &str, mirrored: impl FnOnce() -> Option<PageId>) -> Option<Self> {
        Some(match (host, path) {
            (CALENDAR | SHOP | FACETS | QUERIES | MAZE | MIRROR | FORUM, "/robots.txt") => Self::Robots,
            (CALENDAR, _) => Self::Month(path.strip_prefix("/month/")?.parse().ok()?),
            (SHOP, _) => Self::Shop(path.rsplit_once("/page-")?.1.parse().ok().filter(|page| *page < SHOP_PAGES)?),
            (FACETS, _) => {
                let filters = path.strip_prefix("/list")?.split('/').skip(1);
                let bit = |filter| FILTERS.iter().position(|known| *known == filter).map(|bit| 1 << bit);
                Self::Facets(filters.map(bit).try_fold(0, |set, bit| Some(set | bit?))?)
            }
            (QUERIES, "/things") => Self::Filters(0),
            (QUERIES, _) if path.starts_with("/thing/") => {
                Self::Thing(path["/thing/".len()..].parse().ok().filter(|thing| *thing < THINGS)?)
            }
            (QUERIES, _) => {
                let names = path.strip_prefix("/things?")?.split('&').map(|parameter| parameter.split('=').next());
                let bit =
                    |name: Option<&str>| PARAMETERS.iter().position(|known| name == Some(known)).map(|bit| 1 << bit);
                Self::Filters(names.map(bit).try_fold(0, |set, bit| Some(set | bit?))?)
            }
            (MAZE, _) => Self::Maze(dice_of(world, host, path).pick(&[0, 1, 2, 3])),
            (FORUM, "/") => Self::Forum,
            (FORUM, SIGN_IN) => Self::SignIn,
            (FORUM, _) if path.starts_with("/edit/") => Self::Edit,
            (FORUM, _) if path.starts_with("/reply?to=") => Self::Reply,
            (MIRROR, _) => Self::Mirror(mirrored()?),
            _ if host.ends_with(WILD) && path == "/robots.txt" => Self::Robots,
            _ if host.ends_with(WILD) => Self::Wild,
            _ => return None,
        })
    }
}

/// The dice of an address.
pub(super) fn dice_of(world: Dice, host: &str, path: &str) -> Dice {
    let bytes = host.bytes().chain(path.bytes());
    bytes.fold(world.on(SALT), |dice, byte| dice.on(byte.into()))
}
