//! Sites without end: what a crawler must not drown in.
//!
//! | host | what never ends | what it says |
//! |---|---|---|
//! | `calendar` | months | their days |
//! | `shop` | each link has a new session id in its path | 40 pages, whatever the session |
//! | `facets` | six filters, one after the other, in any order | one list for each set of filters |
//! | `filters` | eight filters in a query, and two orders | which of 30 things are left, each with a page of its own |
//! | `maze` | rooms in rooms | one of four texts |
//! | `mirror` | the portal once more, on a host of its own | what the portal says |
//! | `forum` | a link to edit, and one to reply, for each of its posts | 500; where to sign in |
//! | `*.wild-simulated.test` | hosts | its own name, and that it is for sale |
//!
//! None of them is part of the truth. The portal links to all of them, and none has a robots.txt.

use super::dice::Dice;
use super::world::PageId;

/// A page of a site without end.
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
    /// One of these things.
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

/// The hosts, except the wild ones.
pub(super) const CALENDAR: &str = "calendar.simulated.test";
pub(super) const SHOP: &str = "shop.simulated.test";
pub(super) const FACETS: &str = "facets.simulated.test";
pub(super) const QUERIES: &str = "filters.simulated.test";
pub(super) const MAZE: &str = "maze.simulated.test";
pub(super) const MIRROR: &str = "mirror.simulated.test";
pub(super) const FORUM: &str = "forum.simulated.test";
pub(super) const WILD: &str = ".wild-simulated.test";
/// The filters of the lists.
pub(super) const FILTERS: [&str; 6] = ["red", "small", "cheap", "new", "sold", "local"];
/// The names of the parameters that filter things.
pub(super) const PARAMETERS: [&str; 9] = ["brand", "colour", "deal", "fit", "kind", "price", "size", "year", "order"];
/// Things that are filtered.
pub(super) const THINGS: u32 = 30;
/// Pages of the shop.
pub(super) const SHOP_PAGES: u32 = 40;
/// Pages of the forum that fail, one after the other: more than a host may fail in a row.
pub(super) const EDITS: u32 = 36;
/// Pages of the forum that all redirect to one.
pub(super) const REPLIES: u32 = 200;
/// The page to which they redirect.
pub(super) const SIGN_IN: &str = "/sign-in";

pub(super) const SALT: u64 = 801;

impl Trap {
    /// The page of a trap that a request means; `None` if it is in none. `mirrored` is the portal's page at this path.
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
            (MAZE, _) => Self::Maze(of(world, host, path).pick(&[0, 1, 2, 3])),
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
pub(super) fn of(world: Dice, host: &str, path: &str) -> Dice {
    let bytes = host.bytes().chain(path.bytes());
    bytes.fold(world.on(SALT), |dice, byte| dice.on(byte.into()))
}
