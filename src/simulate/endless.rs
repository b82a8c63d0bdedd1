//! The pages of sites without end.

use std::fmt::Write;

use super::answer::Answer;
use super::dice::Dice;
use super::find::Asked;
use super::trap::{
    CALENDAR, EDITS, FACETS, FILTERS, FORUM, MAZE, MIRROR, PARAMETERS, QUERIES, REPLIES, SALT, SHOP, SHOP_PAGES,
    SIGN_IN, THINGS, Trap, WILD, of,
};
use super::words::WORDS;
use super::world::World;

impl World {
    /// Links from the portal into each trap.
    pub(super) fn trap_links(&self) -> String {
        let mut links = String::new();
        let id = id(of(self.dice, SHOP, ""));
        for to in [
            format!("{CALENDAR}/month/1"),
            format!("{SHOP}/s/{id}/page-0"),
            format!("{FACETS}/list"),
            format!("{QUERIES}/things"),
            format!("{MAZE}/hall"),
            format!("{MIRROR}/"),
            format!("{FORUM}/"),
            format!("any{WILD}/"),
        ] {
            _ = writeln!(links, "<a href=\"http://{to}\">More</a>");
        }
        links
    }

    /// The page at `at`: its host and its path.
    pub(super) fn trap_answer(&self, trap: &Trap, at: &str) -> Answer {
        let dice = self.dice.on(SALT);
        let here = of(self.dice, at, "");
        let path = at.find('/').map_or("/", |path| &at[path..]);
        let (text, links): (_, Vec<String>) = match trap {
            Trap::Robots => return Answer::not_found(404),
            Trap::Edit => return Answer::not_found(500),
            Trap::Reply => {
                let headers = vec![("location", SIGN_IN.to_owned())];
                return Answer { headers, ..Answer::html(302, "text/html".to_owned(), Vec::new()) };
            }
            Trap::Mirror(id) => return self.answer(&Asked::Page { id: *id, session: true }, u32::MAX),
            Trap::Month(month) => {
                let text = grid(*month) + &Self::text(dice);
                (text, vec![format!("/month/{}", month.wrapping_add(1))])
            }
            Trap::Shop(page) => {
                let link = |nth: u32| {
                    let id = id(here.on(nth.into()));
                    format!(
                        "/s/{id}/page-{}",
                        dice.on(1).on(page.wrapping_mul(8).wrapping_add(nth).into()).below(SHOP_PAGES)
                    )
                };
                let next = format!("/s/{}/page-{}", id(here), (page + 1) % SHOP_PAGES);
                (Self::text(dice.on((1 << 32) + u64::from(*page))), (0..8).map(link).chain([next]).collect())
            }
            Trap::Facets(set) => {
                let further = FILTERS.iter().enumerate().filter(|(bit, _)| set & 1 << bit == 0);
                (
                    Self::text(dice.on((2 << 32) + u64::from(*set))),
                    further.map(|(_, filter)| format!("{path}/{filter}")).collect(),
                )
            }
            Trap::Filters(set) => {
                // Each filter keeps two of three things, and the order keeps all.
                let filters = (0..PARAMETERS.len() as u64 - 1).filter(|bit| set & 1 << bit != 0);
                let is_left = |thing: &u32| {
                    let dice = dice.on((8 << 32) + u64::from(*thing));
                    filters.clone().all(|filter| dice.on(filter).below(3) > 0)
                };
                let things = (0..THINGS).filter(is_left).map(|thing| format!("/thing/{thing}"));
                let sign = if path.contains('?') { '&' } else { '?' };
                let further = PARAMETERS.iter().enumerate().filter(|(bit, _)| set & 1 << bit == 0);
                let further = further.map(|(_, name)| format!("{path}{sign}{name}=yes"));
                (Self::text(dice.on((7 << 32) + u64::from(*set))), things.chain(further).collect())
            }
            Trap::Thing(thing) => (Self::text(dice.on((9 << 32) + u64::from(*thing))), vec!["/things".to_owned()]),
            Trap::Maze(room) => {
                let base = path.trim_end_matches('/');
                // At this depth corridors end, and others begin.
                let base = if base.matches('/').count() < 8 { base } else { "" };
                let door = |nth| format!("{base}/{}-{}", here.on(nth).pick(&WORDS), here.on(nth).on(1).pick(&WORDS));
                (Self::text(dice.on((3 << 32) + u64::from(*room))), (0..3).map(door).collect())
            }
            Trap::Forum => {
                let edits = (0..EDITS).map(|nth| format!("/edit/{nth}"));
                (
                    Self::text(dice.on(5 << 32)),
                    edits.chain((0..REPLIES).map(|nth| format!("/reply?to={nth}"))).collect(),
                )
            }
            Trap::SignIn => (Self::text(dice.on(6 << 32)), Vec::new()),
            Trap::Wild => {
                let host =
                    |nth| format!("http://{}{}{WILD}/", here.on(nth).pick(&WORDS), here.on(nth).bits() % 100_000);
                let name = at.split('/').next().unwrap_or_default();
                let text = format!("<h1>Welcome to {name}</h1>\n{}", Self::text(dice.on(4 << 32)));
                (text, (0..6).map(host).collect())
            }
        };
        let mut html = format!("<!DOCTYPE html>\n<title>Page</title>\n{text}");
        for link in links {
            _ = writeln!(html, "<a href=\"{link}\">More</a>");
        }
        Answer::html(200, "text/html".to_owned(), html.into_bytes())
    }

    /// Some words that no other page has.
    fn text(dice: Dice) -> String {
        let mut text = String::from("<p>");
        (0..60).for_each(|nth| _ = write!(text, "{} ", dice.on(nth).pick(&WORDS)));
        text + "</p>\n"
    }
}

/// The days of a month, as calendars show them.
fn grid(month: u64) -> String {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let name = NAMES[usize::try_from(month % 12).unwrap_or_default()];
    let mut text = format!(
        "<h1>{name} {}</h1>\n<table><tr><th>Mon<th>Tue<th>Wed<th>Thu<th>Fri<th>Sat<th>Sun</tr>\n<tr>",
        month / 12
    );
    for cell in 0..month % 7 {
        _ = write!(text, "<td title={cell}>&nbsp;</td>");
    }
    for day in 1..=28 + month % 4 {
        text.push_str(if (day + month).is_multiple_of(7) { "</tr>\n<tr>" } else { "" });
        _ = write!(text, "<td>{day}</td>");
    }
    text + "</tr></table>\n"
}

/// A session id: twelve hexadecimal digits.
fn id(dice: Dice) -> String {
    format!("7a{:010x}", dice.on(SALT).bits() >> 24)
}
