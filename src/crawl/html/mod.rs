//! Reads a page: its encoding, links, title, and directives for robots.
//!
//! | part | where |
//! |---|---|
//! | [`parse`] finds the encoding and lets one of two engines read the text | `charset`, `tokenizer` ([`Engine`]) |
//! | one pass over the tags, the default engine | `stream` |
//! | the standard's tree builder, without a tree | `document` |
//! | both give elements to the harvest, which becomes a [`Page`] | `harvest`, `page` |
//! | whether a body is HTML | `sniff` |
//! | URLs in structured data | `json_ld` |
//! | a page's words, by which similar pages are recognized | `words` |

mod charset;
mod document;
mod harvest;
mod json_ld;
mod page;
mod sniff;
mod stream;
mod tokenizer;
mod words;

use super::ParseOptions;
use charset::Coding;
use harvest::Harvest;
use stream::OnAmbiguity;
use tokenizer::End;

pub use charset::EncodingSource;
pub(super) use charset::encoding_of_xml;
pub(super) use harvest::{LONGEST_URL, refresh};
pub(super) use json_ld::each_json_ld;
pub use page::{Link, LinkKind, LinkText, Page, PageLinks, Reading, RobotsTag};
pub use sniff::is_html;
pub(super) use sniff::{SNIFFED, first_element};
pub use tokenizer::Engine;
pub(super) use tokenizer::{boundary, is_block, tree};
pub(super) use words::{KnownWords, Words, under_title, words};

/// Takes links, title and robots directives from an HTML body.
///
/// Time is linear in the body's length, whatever the body contains. Memory is the decoded text if the body is not UTF-8, the links, and, if
/// the tree builder reads, the elements open at once. The stack does not grow with the page. `benches/parse.rs` has the cost of an ordinary
/// page and of the worst, for both engines.
pub fn parse(body: &[u8], content_type: Option<&str>, options: &ParseOptions) -> Page {
    let mut coding = Coding::find(body, content_type);
    loop {
        let text = coding.text();
        let mut harvest = Harvest::new(options);
        // This loop runs at most twice: a page turns out to be in another encoding at most once.
        if let Some(reading) = read(&text, &mut coding, options, &mut harvest) {
            return harvest.into_page(coding.name(), coding.source(), reading);
        }
    }
}

/// Reads a text with the chosen engine, and with the other if that gives up. `None` if the page declares another encoding for its text.
fn read<'o>(
    text: &str,
    coding: &mut Coding<'_>,
    options: &'o ParseOptions,
    harvest: &mut Harvest<'o>,
) -> Option<Reading> {
    let mut declares = |label: &str| coding.declare(label);
    let mut reading = Reading::Stream;
    let mut end = End::GivenUp;
    if options.engine == Engine::Stream {
        end = stream::read(text, harvest, OnAmbiguity::Stop, &mut declares);
    }
    if end == End::GivenUp {
        reading = Reading::Document;
        *harvest = Harvest::new(options);
        end = document::read(text, options.max_nesting, harvest, &mut declares);
    }
    if end == End::GivenUp {
        reading = Reading::Stream;
        *harvest = Harvest::new(options);
        end = stream::read(text, harvest, OnAmbiguity::Guess, declares);
    }
    (end != End::Declared).then_some(reading)
}
