//! Reads sitemaps and feeds in XML, event by event, and resolves the references in their texts and attributes.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Error, Reader};

use super::open_entry::{
    Bases, Chain, EntryUrl, FOREIGN, FieldName, OpenEntry, field_of, format_of, is_alternate, is_entry, is_passed_over,
    kind_of,
};
use super::summary::Sitemap;
use super::text::{LESS, MendedText, SitemapText};
use super::{SitemapEntryKind, SitemapFormat};
use crate::crawl::html::{LONGEST_URL, boundary};

/// At most this many elements may be open at once, including those that are never closed.
const DEEPEST: usize = 200_000;

/// Reads a file whose text begins at `offset`.
pub(super) fn read(text: SitemapText<'_>, offset: u64, sitemap: &mut Sitemap<'_>) {
    let mut reader = Reader::from_reader(MendedText::new(text));
    let config = reader.config_mut();
    (config.allow_dangling_amp, config.allow_unmatched_ends) = (true, true);
    (config.check_end_names, config.expand_empty_elements) = (false, true);
    let mut walk = Walk::default();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        reader.get_mut().begin_element();
        walk.at = offset + reader.buffer_position();
        let event = reader.read_event_into(&mut bytes);
        match event {
            Ok(Event::Eof) => break,
            Ok(Event::Start(tag)) => walk.start(&tag, sitemap),
            Ok(Event::End(tag)) => walk.end(&tag.name().0.to_ascii_lowercase(), sitemap),
            Ok(Event::Text(text)) => walk.text(&text),
            Ok(Event::CData(text)) => walk.text(&text),
            Ok(Event::GeneralRef(name)) => walk.reference(&name, sitemap),
            Ok(_) => {}
            Err(Error::IllFormed(error)) => sitemap.note(walk.at, &error.to_string()),
            Err(Error::Io(error)) => {
                sitemap.note(walk.at, &error.to_string());
                break;
            }
            Err(error) => {
                // If the text is cut, that is why the tag is cut.
                let cut = reader.get_mut().take_problem();
                sitemap.note(walk.at, &cut.map_or_else(|| error.to_string(), str::to_owned));
                // An element's text is complete once its end tag has begun.
                if let Some(name) = bytes.strip_prefix(b"</") {
                    walk.end_cut(&name.to_ascii_lowercase(), sitemap);
                }
                break;
            }
        }
        if walk.is_foreign {
            return;
        }
        if walk.depth > DEEPEST {
            sitemap.note(walk.at, "nested too deep");
            break;
        }
    }
    if let Some(problem) = reader.get_mut().take_problem() {
        sitemap.note(offset + reader.buffer_position(), problem);
    }
    walk.finish(sitemap);
}

/// The state of the reader at a place in the file.
#[derive(Default)]
struct Walk {
    /// Bytes of text before the current event.
    at: u64,
    /// The number of open elements, by their tags.
    depth: usize,
    format: Option<SitemapFormat>,
    /// The file has none of the formats that are read.
    is_foreign: bool,
    entry: Option<OpenEntry>,
    /// The bases of the open elements of a feed.
    bases: Bases,
    field: Option<Field>,
    skipped: Option<Skipped>,
}

/// An element whose content is skipped: of another vocabulary, or a feed's own text.
struct Skipped {
    /// Its name as written in the tag, in lower case.
    tag: String,
    /// The number of open elements with the same name in it. Other elements need not be closed: the skipped content may be HTML.
    nested: usize,
}

/// An element whose text is needed.
struct Field {
    name: FieldName,
    /// Its name as written in the tag, in lower case.
    tag: String,
    text: String,
    at: u64,
    bases: Option<Chain>,
    is_too_long: bool,
    /// The number of open `<url>` elements in it, which are there by mistake.
    nested: usize,
}

impl Walk {
    fn start(&mut self, tag: &BytesStart<'_>, sitemap: &mut Sitemap<'_>) {
        self.depth += 1;
        let full = tag.name().0.to_ascii_lowercase();
        let (prefix, name) = full.split_once(':').unwrap_or(("", &full));
        let Some(format) = self.format else { return self.begin(tag, prefix, name, sitemap) };
        let is_feed = matches!(format, SitemapFormat::Atom | SitemapFormat::Rss);
        if is_entry(format, name) && (prefix.is_empty() || !FOREIGN.contains(&prefix)) {
            // This is another `<url>`, around the URL itself.
            if let Some(field) =
                self.field.as_mut().filter(|field| field.name == FieldName::Url && field.text.trim().is_empty())
            {
                field.nested += 1;
                return;
            }
            self.end_entry(sitemap, true);
            return self.begin_entry(tag, prefix, name, sitemap);
        }
        if let Some(skipped) = &mut self.skipped {
            let is_lost = |entry: &OpenEntry| entry.prefix == prefix && !entry.has_url();
            // The skipped element was never closed if the entry's own URL follows.
            let is_over =
                !is_feed && name == "loc" && skipped.tag.contains(':') && self.entry.as_ref().is_some_and(is_lost);
            if !is_over {
                skipped.nested += usize::from(skipped.tag == full);
                return;
            }
            self.skipped = None;
        }
        if is_feed {
            self.rebase(tag, self.depth, sitemap);
        }
        let Some(entry) = &self.entry else { return };
        if name == "link" && format != SitemapFormat::Rss {
            let is_own = self.attribute(tag, "rel", sitemap).is_none_or(|rel| is_alternate(rel.trim()));
            // Some Atom feeds have the URL as the element's text.
            if format != SitemapFormat::Atom || !is_own || self.attribute(tag, "href", sitemap).is_some() {
                self.link(tag, sitemap);
                return;
            }
        }
        let is_extension = FOREIGN.contains(&prefix) || FOREIGN.contains(&name);
        let is_own = prefix == entry.prefix || ["", "dc", "rss"].contains(&prefix);
        let is_other = format == SitemapFormat::Rss && !is_own;
        if is_extension || is_other || is_passed_over(format, name) {
            self.end_field(sitemap);
            self.skipped = Some(Skipped { tag: full, nested: 0 });
            return;
        }
        if let Some(field) = field_of(format, name) {
            self.end_field(sitemap);
            if name == "loc" {
                self.part_entry(sitemap);
            } else if name == "link" {
                self.link(tag, sitemap);
            }
            let (bases, text) = (self.bases.chain(), String::new());
            self.field =
                Some(Field { name: field, tag: full, text, at: self.at, bases, is_too_long: false, nested: 0 });
        }
    }

    /// Takes the first element, which gives the file's format.
    fn begin(&mut self, tag: &BytesStart<'_>, prefix: &str, name: &str, sitemap: &mut Sitemap<'_>) {
        let Some(format) = format_of(name) else {
            self.is_foreign = true;
            return sitemap.note(self.at, &format!("neither a sitemap nor a feed: it begins with <{}>", shown(name)));
        };
        (self.format, sitemap.format) = (Some(format), format);
        if is_entry(format, name) {
            self.begin_entry(tag, prefix, name, sitemap);
        } else if matches!(format, SitemapFormat::Atom | SitemapFormat::Rss) {
            self.rebase(tag, 0, sitemap);
        }
    }

    /// Begins a new entry at another URL in an entry: the tags between the two may be missing, and the details of each URL follow it.
    fn part_entry(&mut self, sitemap: &mut Sitemap<'_>) {
        if let Some(entry) = self.entry.as_ref().filter(|entry| entry.has_url()) {
            let next = OpenEntry::at(self.at, entry.kind, &entry.prefix, entry.bases_around);
            self.end_entry(sitemap, true);
            self.entry = Some(next);
        }
    }

    fn begin_entry(&mut self, tag: &BytesStart<'_>, prefix: &str, name: &str, sitemap: &mut Sitemap<'_>) {
        let mut entry = OpenEntry::at(self.at, kind_of(name), prefix, self.bases.count());
        if entry.kind == SitemapEntryKind::Item {
            self.rebase(tag, 0, sitemap);
            if let Some(about) = self.attribute(tag, "rdf:about", sitemap) {
                entry.add_instead(&about, self.at);
            }
        }
        self.entry = Some(entry);
    }

    /// Takes an element's `xml:base`. It is in effect until the end tag at this depth; with depth 0, until the end of the entry or the
    /// file, since end tags may be missing.
    fn rebase(&mut self, tag: &BytesStart<'_>, depth: usize, sitemap: &mut Sitemap<'_>) {
        if let Some(base) = self.attribute(tag, "xml:base", sitemap)
            && !self.bases.open(depth, base.trim().to_owned())
        {
            sitemap.note(self.at, "an xml:base that is too long, or one too many");
        }
    }

    fn end(&mut self, full: &str, sitemap: &mut Sitemap<'_>) {
        self.depth = self.depth.saturating_sub(1);
        self.bases.close(self.depth);
        let Some(format) = self.format else { return };
        let (prefix, name) = full.split_once(':').unwrap_or(("", full));
        let is_entry = is_entry(format, name) && !FOREIGN.contains(&prefix);
        if let Some(field) = self.field.as_mut().filter(|field| is_entry && field.nested > 0) {
            field.nested -= 1;
        } else if is_entry {
            self.end_entry(sitemap, true);
        } else if let Some(skipped) = &mut self.skipped {
            if skipped.tag == full && skipped.nested == 0 {
                self.skipped = None;
            } else {
                skipped.nested -= usize::from(skipped.tag == full);
            }
        } else if field_of(format, name).is_some() {
            self.end_field(sitemap);
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        let mended = text.contains(char::from(LESS)).then(|| text.replace(char::from(LESS), "<"));
        let text = mended.as_deref().unwrap_or(text);
        if let Some(field) = &mut self.field {
            field.is_too_long |= field.text.len() + text.len() > LONGEST_URL;
            if !field.is_too_long {
                field.text.push_str(text);
            }
        } else if let Some(entry) = &mut self.entry {
            entry.add_bare(text, self.at, LONGEST_URL);
        }
    }

    fn reference(&mut self, name: &str, sitemap: &mut Sitemap<'_>) {
        match Reference::of(name) {
            Reference::Letter(letter) => self.text(letter.encode_utf8(&mut [0; 4])),
            Reference::Text => ["&", name, ";"].into_iter().for_each(|part| self.text(part)),
            Reference::Unknown => self.note_unknown(name, sitemap),
        }
    }

    fn note_unknown(&self, name: &str, sitemap: &mut Sitemap<'_>) {
        sitemap.note(self.at, &format!("&{}; is not resolved", shown(name)));
    }

    /// An attribute's value. As in HTML, its name may be in any case, and its value without quotes.
    fn attribute(&self, tag: &BytesStart<'_>, name: &str, sitemap: &mut Sitemap<'_>) -> Option<String> {
        let mut attributes = tag.html_attributes();
        let mut named = attributes.with_checks(false).flatten();
        let found = named.find(|attribute| attribute.key.0.eq_ignore_ascii_case(name))?;
        Some(value(&found.value, |unknown| self.note_unknown(unknown, sitemap)))
    }

    /// Takes a link whose URL is an attribute.
    fn link(&mut self, tag: &BytesStart<'_>, sitemap: &mut Sitemap<'_>) {
        let rel = self.attribute(tag, "rel", sitemap);
        if !rel.is_none_or(|rel| is_alternate(rel.trim())) {
            return;
        }
        let Some(href) = self.attribute(tag, "href", sitemap).filter(|href| !href.trim().is_empty()) else { return };
        let (at, bases) = (self.at, self.bases.chain());
        if let Some(entry) = &mut self.entry {
            let is_item = entry.kind == SitemapEntryKind::Item;
            let kind = if is_item { SitemapEntryKind::Item } else { SitemapEntryKind::Alternate };
            entry.add(EntryUrl { kind, url: href.trim().to_owned(), at, bases });
        }
    }

    /// Takes an end tag that the end of the file has cut. `name` is the beginning of its name.
    fn end_cut(&mut self, name: &[u8], sitemap: &mut Sitemap<'_>) {
        let is_own = |field: &Field| !name.is_empty() && field.tag.as_bytes().starts_with(name);
        if self.field.as_ref().is_some_and(is_own) {
            self.end_field(sitemap);
        }
    }

    /// Ends the element whose text is needed.
    fn end_field(&mut self, sitemap: &mut Sitemap<'_>) {
        let Some(Field { name, text, at, bases, is_too_long, .. }) = self.field.take() else { return };
        let Some(entry) = &mut self.entry else { return };
        if is_too_long {
            return sitemap.note(at, "a text of more than 64 KiB");
        }
        let text = text.trim();
        if !text.is_empty() && !entry.take(name, text, at, bases) {
            sitemap.note(at, "more URLs than one entry may have");
        }
    }

    /// Ends the current entry, and passes it on.
    fn end_entry(&mut self, sitemap: &mut Sitemap<'_>, is_whole: bool) {
        if is_whole {
            self.end_field(sitemap);
        }
        (self.field, self.skipped) = (None, None);
        if let Some(entry) = self.entry.take() {
            self.bases.keep(entry.bases_around);
            entry.finish(sitemap, is_whole);
        }
    }

    /// Ends the file, complete or not.
    fn finish(&mut self, sitemap: &mut Sitemap<'_>) {
        if self.format.is_none() && !self.is_foreign {
            sitemap.note(self.at, "no element");
        }
        if let Some(field) = self.field.as_ref().filter(|field| field.name == FieldName::Url) {
            sitemap.note(field.at, "it breaks off in a URL");
        }
        self.end_entry(sitemap, false);
    }
}

/// The beginning of a name, for messages.
fn shown(name: &str) -> &str {
    &name[..boundary(name, 40)]
}

/// What a reference stands for.
pub(super) enum Reference {
    /// One of XML's own five, or a number.
    Letter(char),
    /// Not a reference: it is part of the text.
    Text,
    /// An entity that is not resolved.
    Unknown,
}

impl Reference {
    /// The reference whose name is between `&` and `;`.
    pub(super) fn of(name: &str) -> Self {
        let letter = match name {
            "amp" => Some('&'),
            "apos" => Some('\''),
            "gt" => Some('>'),
            "lt" => Some('<'),
            "quot" => Some('"'),
            _ => name.strip_prefix('#').and_then(character),
        };
        match letter {
            Some(letter) => Self::Letter(letter),
            None if is_name(name) => Self::Unknown,
            None => Self::Text,
        }
    }
}

/// An attribute's value, with each of its references resolved separately. Calls `unknown` for each that is not resolved.
pub(super) fn value(raw: &str, mut unknown: impl FnMut(&str)) -> String {
    let mut value = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((text, after)) = rest.split_once('&') {
        value.push_str(text);
        rest = after;
        let name = &rest[..rest.find(['&', ';']).unwrap_or(rest.len())];
        let reference = if rest[name.len()..].starts_with(';') { Reference::of(name) } else { Reference::Text };
        match reference {
            Reference::Letter(letter) => value.push(letter),
            Reference::Text => {
                value.push('&');
                continue;
            }
            Reference::Unknown => unknown(name),
        }
        rest = &rest[name.len() + 1..];
    }
    value.push_str(rest);
    value
}

/// The character of a numeric reference, without its `#`.
fn character(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    code.ok().and_then(char::from_u32).filter(|letter| *letter != '\0')
}

/// Whether a text can be an entity's name. The `b=2` of `&b=2;` in a URL cannot.
fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(char::is_alphabetic)
        && letters.all(|letter| letter.is_alphanumeric() || "-_.:".contains(letter))
        && text.len() <= 64
}
