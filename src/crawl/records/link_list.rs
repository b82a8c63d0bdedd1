//! The sink that writes links: `links.jsonl`.

use serde::{Deserialize, Serialize};

use super::done_page::DonePage;
use super::edge::Edge;
use super::page_record::add_line;
use super::sink::Sink;

/// The output's name.
const NAME: &str = "links.jsonl";
/// Most lines are no longer than this many bytes.
const LINE: usize = 256;

/// One line of `links.jsonl`: a link of a page. Every key is present in every line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct LinkRecord {
    /// The wire URL of its page, as in the page's record.
    pub from: String,
    /// The wire URL that it leads to.
    pub to: String,
    /// What it was found on, by [`Edge::kind`].
    pub kind: String,
    /// The text of its `<a>`.
    pub text: Option<String>,
    /// The `rel` of its element.
    pub rel: Option<String>,
}

/// Writes the links of each page to `links.jsonl` in the job, one [`LinkRecord`] a line. Each spelling of a link is listed once per page,
/// in the page's order.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct LinkList;

/// A [`LinkRecord`] that borrows.
#[derive(Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
struct Line<'a> {
    from: &'a str,
    to: &'a str,
    kind: &'a str,
    text: Option<&'a str>,
    rel: Option<&'a str>,
}

impl Sink for LinkList {
    fn name(&self) -> &'static str {
        NAME
    }

    fn needs_links(&self) -> bool {
        true
    }

    fn write(&self, page: &DonePage<'_>, to: &mut Vec<u8>) {
        let from = &page.record.url;
        if let Some(redirect) = &page.record.redirect {
            add_line(&Line { from, to: redirect, kind: "redirect", text: None, rel: None }, to);
        }
        to.reserve(page.links.len() * LINE);
        for Edge { to: target, kind, text, rel } in page.links {
            add_line(&Line { from, to: target, kind, text: text.as_deref(), rel: rel.as_deref() }, to);
        }
    }
}
