//! Reads a page: finds its encoding, and takes what is in it.

use super::charset::Coding;
use super::document::{self, End};
use super::harvest::Harvest;
use super::page::{Page, Reading};
use crate::crawl::ParseOptions;

/// Takes links, title and robots directives from an HTML body.
///
/// Time is linear in the body's length, whatever it says; memory is the text where it is not UTF-8, the links, and the elements
/// that are open at once; the stack is as deep for any page as for an empty one. `benches/parse.rs` has the cost of an ordinary
/// page and of the worst.
pub fn parse(body: &[u8], content_type: Option<&str>, options: &ParseOptions) -> Page {
    let mut coding = Coding::find(body, content_type);
    loop {
        let text = coding.text();
        let mut harvest = Harvest::new(options);
        // Once at most, a page turns out to be in another encoding.
        if let Some(reading) = read(&text, &mut coding, options, &mut harvest) {
            return harvest.into_page(coding.name(), coding.source(), reading);
        }
    }
}

/// `None` where the text is another by what it declares.
fn read<'o>(
    text: &str,
    coding: &mut Coding<'_>,
    options: &'o ParseOptions,
    harvest: &mut Harvest<'o>,
) -> Option<Reading> {
    let mut declares = |label: &str| coding.declare(label);
    let mut end = document::read(text, options.max_nesting, harvest, &mut declares);
    let is_flat = end == End::TooDeep;
    if is_flat {
        *harvest = Harvest::new(options);
        end = document::read_flat(text, harvest, declares);
    }
    match end {
        End::Declared => None,
        End::Whole => Some(if is_flat { Reading::Flat } else { Reading::Document }),
        End::TooDeep | End::TooManyAttributes => Some(Reading::Partial),
    }
}
