//! A page read: its encoding, its links, its title, what it asks of robots.

mod calendar;
mod charset;
mod document;
mod engine;
mod feed;
mod harvest;
mod json_ld;
mod known_words;
mod link_kind;
mod link_text;
mod page;
mod parse;
mod prescan;
mod robots_tag;
mod sniff;
mod srcset;
mod stream;
mod tree;
mod word_hash;
mod words;

pub use charset::EncodingSource;
pub(super) use charset::encoding_of_xml;
pub use engine::Engine;
pub(super) use feed::boundary;
pub(super) use harvest::refresh;
pub(super) use json_ld::each_json_ld;
pub(super) use known_words::KnownWords;
pub use link_kind::LinkKind;
pub use link_text::LinkText;
pub use page::{Link, Page, PageLinks, Reading};
pub use parse::parse;
pub use robots_tag::RobotsTag;
pub(super) use sniff::SNIFFED;
pub use sniff::is_html;
pub(super) use tree::tree;
pub(super) use words::{Words, words};
