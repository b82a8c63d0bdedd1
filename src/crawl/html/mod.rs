//! Reads a page: its encoding, links, title, and directives for robots.
//!
//! | part | where |
//! |---|---|
//! | [`parse`] finds the encoding, and reads the text in one pass over its tags | `charset`, `stream` |
//! | the elements become a harvest, which becomes a [`Page`] | `harvest`, `page` |
//! | the tree from which fields are selected | `tree` |
//! | whether a body is HTML | `sniff` |
//! | URLs in structured data | `json_ld` |
//! | a page's words, by which similar pages are recognized | `words`, from the bits that `word_marks` makes |

mod charset;
mod harvest;
mod json_ld;
mod page;
mod sniff;
mod stream;
mod tree;
mod word_marks;
mod words;

use super::ParseOptions;
use charset::PageEncoding;
use harvest::Harvest;
use stream::End;

pub use charset::EncodingSource;
pub(super) use charset::encoding_of_xml;
pub(super) use harvest::{LONGEST_URL, refresh};
pub(super) use json_ld::each_json_ld;
pub use page::{Link, LinkKind, LinkText, Page, PageLinks, RobotsTag};
pub use sniff::is_html;
pub(super) use sniff::{SNIFFED, first_element};
pub(super) use tree::{boundary, is_block, tree};
pub(super) use words::{KnownWords, words};

/// Takes links, title and robots directives from an HTML body.
///
/// Time is linear in the body's length, whatever the body contains. Memory is the decoded text if the body is not UTF-8, and the links. The
/// stack does not grow with the page. `benches/parse.rs` has the cost of an ordinary page and of the worst.
pub fn parse(body: &[u8], content_type: Option<&str>, options: &ParseOptions) -> Page {
    let mut encoding = PageEncoding::find(body, content_type);
    loop {
        let text = encoding.text();
        let mut harvest = Harvest::new(options);
        // This loop runs at most twice: a page turns out to be in another encoding at most once.
        if stream::read(&text, &mut harvest, |label| encoding.declare(label)) == End::Whole {
            return harvest.into_page(encoding.name(), encoding.source());
        }
    }
}
