//! Renders a page as HTML: links in different markup, running text, and things that look like links but are not.

use std::fmt::Write;

use super::dice::{ACCENTED, Dice, WORDS};
use super::host::{Charset, Nofollow, WorldPage};
use super::links::{Base, WorldLink, spell};
use super::world::{FILLER_BYTES, PageId, World};

/// The bounds of sixteen equally likely ranges of page sizes. The sizes have a log-normal distribution (median 9,000 bytes, sigma 0.9) with
/// its tails cut.
const SIZES: [u32; 17] = [
    2_000, 2_300, 3_200, 4_100, 4_900, 5_800, 6_800, 7_800, 9_000, 10_400, 12_000, 14_000, 16_500, 20_000, 25_300,
    35_800, 60_000,
];

const TITLE: u64 = 601;
const SIZE: u64 = 602;
const BASE: u64 = 603;
const NOISE: u64 = 604;
const MARKUP: u64 = 605;
const TEXT: u64 = 606;

/// The element that a link is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Anchor,
    Area,
    Frame,
    HeadLink,
    Refresh,
}

impl World {
    /// A page's title, as a reader of its HTML would see it.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn title(&self, id: PageId) -> String {
        title(&self.page(id))
    }

    /// The page as text, before its charset is applied.
    pub(super) fn html(&self, page: &WorldPage) -> String {
        let size = size(page.dice.on(SIZE)) as usize;
        let links = self.links(page);
        let mut html = String::with_capacity(size + 256 * links.len() + 1024);
        let base = self.base(page);
        let noise = page.dice.on(NOISE);

        html.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n");
        match page.host.charset() {
            Charset::Utf8Meta => html.push_str("<meta charset=\"utf-8\">\n"),
            Charset::Windows1252Meta => {
                html.push_str("<meta http-equiv=\"Content-Type\" content=\"text/html; charset=windows-1252\">\n");
            }
            Charset::Utf8Header | Charset::Windows1252Header => {}
        }
        _ = writeln!(html, "<title>{}</title>", title(page));
        if let Some(base) = &base {
            let own = base.host == page.host.index && noise.on(2).per_mille(500);
            let origin = if own { String::new() } else { format!("http://{}", self.host_name(base.host)) };
            _ = writeln!(html, "<base href=\"{origin}{}\">", base.directory);
        }
        html.push_str("<link rel=\"stylesheet\" href=\"/static/site.css\">\n");
        if page.nofollow() == Some(Nofollow::Meta) {
            html.push_str("<meta name=\"robots\" content=\"index, nofollow\">\n");
        }
        if noise.per_mille(30) {
            html.push_str("<script>document.write('<a href=\"/made-by-script\">x</a>')</script>\n");
        }
        let own = Base::of(page);
        let base_or_own = base.as_ref().unwrap_or(&own);
        let mut refreshed = false;
        let mut in_body: Vec<(WorldLink, Element)> = Vec::with_capacity(links.len());
        for link in links {
            match element(&link) {
                Element::Refresh if !refreshed => {
                    refreshed = true;
                    let href = spell(&self.page(link.to), base_or_own, link.dice);
                    _ = writeln!(html, "<meta http-equiv=\"refresh\" content=\"5; url={}\">", escaped(&href, true));
                }
                Element::HeadLink => {
                    let href = spell(&self.page(link.to), base_or_own, link.dice);
                    _ = writeln!(html, "<link rel=\"next\" href=\"{}\">", escaped(&href, true));
                }
                Element::Refresh => in_body.push((link, Element::Anchor)),
                element => in_body.push((link, element)),
            }
        }
        _ = write!(html, "</head>\n<body>\n<h1>{}</h1>\n<img src=\"/static/logo.png\" alt=\"\">\n", title(page));
        // With a base, this link would lead to another page.
        if base.is_none() {
            html.push_str("<a href=\"#main\">Skip</a> <a name=\"main\"></a>\n");
        }
        let text = size.saturating_sub(html.len()) / (in_body.len() + 1);
        for (nth, (link, element)) in in_body.iter().enumerate() {
            self.paragraphs(&mut html, page.dice.on(TEXT).on(nth as u64), text);
            self.write_link(&mut html, link, *element, base_or_own);
        }
        self.paragraphs(&mut html, page.dice.on(TEXT), text);
        match noise.on(1).below(100) {
            0..5 => html.push_str("<a href=\"mailto:editor@simulated.test\">Write to us</a>\n"),
            5..9 => html.push_str("<a href=\"javascript:void(0)\">Menu</a>\n"),
            9..11 => html.push_str("<a href='tel:+15550100'>Call</a> <a href=\"data:text/html,hello\">Data</a>\n"),
            11..15 => html.push_str("<!-- <a href=\"/commented-out\">Old</a> -->\n"),
            15..17 => html.push_str("<a href=\"http://[broken/\">Broken</a> <a>Nowhere</a>\n"),
            _ => {}
        }
        if self.options().trap && page.host.index == 0 && page.number == 0 {
            html.push_str(&self.trap_links());
        }
        html.push_str("</body>\n</html>\n");
        html
    }

    /// The `<base>` of a page: few pages have one, and about a third of these point to any page of the world.
    fn base(&self, page: &WorldPage) -> Option<Base> {
        let dice = page.dice.on(BASE);
        let other = |place| Base::of(&self.page(self.at(place)));
        match dice.below(1000) {
            0..15 => Some(other(dice.on(1).below(self.pages()))),
            15..45 => {
                let number = dice.on(1).below(page.host.pages);
                Some(Base::of(&self.page(PageId { host: page.host.index, number })))
            }
            _ => None,
        }
    }

    fn write_link(&self, html: &mut String, link: &WorldLink, element: Element, base: &Base) {
        let markup = link.dice.on(MARKUP);
        let href = escaped(&spell(&self.page(link.to), base, link.dice), markup.per_mille(800));
        let words = (markup.on(1).pick(&WORDS), markup.on(2).pick(&WORDS));
        _ = match (element, markup.on(3).below(100)) {
            (Element::Area, _) => writeln!(html, "<map name=\"m\"><area alt=\"{}\" href=\"{href}\"></map>", words.0),
            (Element::Frame, _) => writeln!(html, "<iframe src=\"{href}\" title=\"{}\"></iframe>", words.0),
            _ if link.nofollow => {
                let rel = markup.on(4).pick(&["nofollow", "nofollow", "external nofollow", "NoFollow noopener"]);
                writeln!(html, "<a rel=\"{rel}\" href=\"{href}\">{} {}</a>", words.0, words.1)
            }
            (_, 0..10) => writeln!(html, "<a class=\"more\" href='{href}'>{} {}</a>", words.0, words.1),
            (_, 10..13) => writeln!(html, "<A HREF=\"{href}\"><b>{}</b> {}</A>", words.0, words.1),
            (_, 13..16) => writeln!(html, "<a href=\" {href}\n\">{} {}</a>", words.0, words.1),
            (_, 16..20) if !href.contains('=') => writeln!(html, "<a href={href} >{}</a>", words.0),
            _ => writeln!(html, "<a href=\"{href}\">{} {}</a>", words.0, words.1),
        };
    }

    /// Writes this many bytes of text, cut into paragraphs.
    fn paragraphs(&self, html: &mut String, dice: Dice, mut bytes: usize) {
        const LONGEST: usize = 900;
        for nth in 1.. {
            let length = bytes.min(LONGEST);
            if length < 16 {
                break;
            }
            let start = dice.on(nth).index(FILLER_BYTES - LONGEST);
            html.push_str("<p>");
            html.push_str(&self.filler[start..start + length]);
            html.push_str("</p>\n");
            bytes -= length;
        }
    }
}

fn element(link: &WorldLink) -> Element {
    match link.dice.on(MARKUP).on(5).below(100) {
        // Only anchors have `rel="nofollow"`: on other elements `rel` means something else, or nothing.
        _ if link.nofollow => Element::Anchor,
        0..3 => Element::Area,
        3..5 => Element::Frame,
        5..8 => Element::HeadLink,
        8 => Element::Refresh,
        _ => Element::Anchor,
    }
}

fn title(page: &WorldPage) -> String {
    let dice = page.dice.on(TITLE);
    let accent = if dice.per_mille(300) { dice.on(1).pick(&ACCENTED) } else { "The" };
    format!("{accent} {} {} {}", dice.on(2).pick(&WORDS), dice.on(3).pick(&WORDS), page.number)
}

fn size(dice: Dice) -> u32 {
    const STEPS: u32 = 64;
    let at = dice.below(16 * STEPS);
    let (low, high) = (SIZES[(at / STEPS) as usize], SIZES[(at / STEPS) as usize + 1]);
    low + (high - low) * (at % STEPS) / STEPS
}

/// The link with or without escaped ampersands. A parser reads both.
fn escaped(href: &str, escape: bool) -> String {
    if escape { href.replace('&', "&amp;") } else { href.to_owned() }
}
