//! A page read: its encoding, its links, its title, what it asks of robots.

mod charset;
mod document;
mod engine;
mod harvest;
mod page;
mod parse;
mod prescan;
mod robots_tag;
mod sniff;
mod stream;

pub use charset::EncodingSource;
pub(super) use charset::encoding_of_xml;
pub use engine::Engine;
pub(super) use harvest::refresh;
pub use page::{Link, LinkKind, Page, PageLinks, Reading};
pub use parse::parse;
pub use robots_tag::RobotsTag;
pub(super) use sniff::SNIFFED;
pub use sniff::is_html;
