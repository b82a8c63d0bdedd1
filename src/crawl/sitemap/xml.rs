//! Sitemaps and feeds in XML, an event at a time.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Error, Reader};

use super::sitemap::Sitemap;
use super::text::{SitemapText, floor};
use super::{SitemapEntry, SitemapEntryKind, SitemapFormat};

/// Elements that may be open at once. Tags that nobody closes count.
const DEEPEST: usize = 200_000;
/// Bytes of one text that are kept. No URL is longer.
const LONGEST: usize = 16 * 1024;
/// URLs of one entry that are kept.
const MOST: usize = 1_000;
/// Other vocabularies that stand in a sitemap, whose `loc` is none of a page.
const FOREIGN: [&str; 7] = ["image", "mobile", "news", "pagemap", "video", "xhtml", "media"];

/// Reads a file whose text begins at `offset`.
pub(super) fn read(text: SitemapText<'_>, offset: u64, sitemap: &mut Sitemap<'_>) {
    let mut reader = Reader::from_reader(text);
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
                // That the text is cut is why a tag is.
                let cut = reader.get_mut().problem.take();
                sitemap.note(walk.at, &cut.map_or_else(|| error.to_string(), str::to_owned));
                // The text of an element is whole where its end tag has begun.
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
    if let Some(problem) = reader.get_mut().problem.take() {
        sitemap.note(offset + reader.buffer_position(), problem);
    }
    walk.finish(sitemap);
}

/// Where in a file the reader is.
#[derive(Default)]
struct Walk {
    /// Bytes of text before the event at hand.
    at: u64,
    /// Elements that are open, as far as tags say.
    depth: usize,
    format: Option<SitemapFormat>,
    /// The file is none of those that are read.
    is_foreign: bool,
    entry: Option<Entry>,
    field: Option<Field>,
    /// Elements of another vocabulary that are open.
    skipped: usize,
}

/// A `<url>`, `<sitemap>`, `<item>` or `<entry>` that is not at its end.
#[derive(Default)]
struct Entry {
    /// URLs in the order in which they stand.
    urls: Vec<(SitemapEntryKind, String, u64)>,
    /// A URL that serves where there is no other.
    instead: Option<(String, u64)>,
    /// What stands in it outside of all elements.
    bare: String,
    bare_at: u64,
    lastmod: Option<String>,
    priority: Option<f32>,
    kind: SitemapEntryKind,
}

/// An element whose text is wanted.
struct Field {
    name: Name,
    /// As it stands in the tag, in lower case.
    tag: String,
    text: String,
    at: u64,
    is_too_long: bool,
    /// `<url>` that stand in it by mistake.
    nested: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// Its text is the entry's URL.
    Url,
    /// Its text may be one.
    Instead,
    Changed,
    Priority,
    /// Its text is passed over.
    Other,
}

impl Walk {
    fn start(&mut self, tag: &BytesStart<'_>, sitemap: &mut Sitemap<'_>) {
        self.depth += 1;
        let full = tag.name().0.to_ascii_lowercase();
        let (prefix, name) = full.split_once(':').unwrap_or(("", &full));
        let Some(format) = self.format else { return self.begin(name, sitemap) };
        let is_feed = matches!(format, SitemapFormat::Atom | SitemapFormat::Rss);
        if is_entry(format, name) && (prefix.is_empty() || !FOREIGN.contains(&prefix)) {
            // One more `<url>` around the URL itself.
            if let Some(field) =
                self.field.as_mut().filter(|field| field.name == Name::Url && field.text.trim().is_empty())
            {
                field.nested += 1;
                return;
            }
            self.end_entry(sitemap, true);
            let kind = kind_of(name);
            let about = tag.try_get_attribute("rdf:about").ok().flatten().map(|about| value(&about.value));
            let instead = about.filter(|about| is_absolute(about)).map(|about| (about, self.at));
            self.entry = Some(Entry { kind, instead, bare_at: self.at, ..Entry::default() });
            return;
        }
        if self.entry.is_none() {
            return;
        }
        if self.skipped > 0 {
            self.skipped += 1;
            return;
        }
        if name == "link" && format != SitemapFormat::Rss {
            self.link(tag, format);
            return;
        }
        let is_extension = FOREIGN.contains(&prefix) || FOREIGN.contains(&name);
        let is_other =
            is_feed && !prefix.is_empty() && format == SitemapFormat::Rss && !["dc", "rss"].contains(&prefix);
        if is_extension || is_other || is_feed && name == "source" {
            self.end_field(sitemap);
            self.skipped = 1;
            return;
        }
        if let Some(name) = field_of(format, name) {
            self.end_field(sitemap);
            let (tag, text) = (full, String::new());
            self.field = Some(Field { name, tag, text, at: self.at, is_too_long: false, nested: 0 });
        }
    }

    /// The first element says what the file is.
    fn begin(&mut self, name: &str, sitemap: &mut Sitemap<'_>) {
        let format = match name {
            "urlset" | "url" => SitemapFormat::UrlSet,
            "sitemapindex" | "sitemap" => SitemapFormat::Index,
            "rss" | "rdf" => SitemapFormat::Rss,
            "feed" => SitemapFormat::Atom,
            _ => {
                self.is_foreign = true;
                return sitemap
                    .note(self.at, &format!("neither a sitemap nor a feed: it begins with <{}>", shown(name)));
            }
        };
        (self.format, sitemap.format) = (Some(format), format);
        if is_entry(format, name) {
            let kind = kind_of(name);
            self.entry = Some(Entry { kind, bare_at: self.at, ..Entry::default() });
        }
    }

    fn end(&mut self, full: &str, sitemap: &mut Sitemap<'_>) {
        self.depth = self.depth.saturating_sub(1);
        let Some(format) = self.format else { return };
        let (prefix, name) = full.split_once(':').unwrap_or(("", full));
        let is_entry = is_entry(format, name) && !FOREIGN.contains(&prefix);
        if let Some(field) = self.field.as_mut().filter(|field| is_entry && field.nested > 0) {
            field.nested -= 1;
        } else if is_entry {
            self.end_entry(sitemap, true);
        } else if self.skipped > 0 {
            self.skipped -= 1;
        } else if field_of(format, name).is_some() {
            self.end_field(sitemap);
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped > 0 {
            return;
        }
        if let Some(field) = &mut self.field {
            field.is_too_long |= field.text.len() + text.len() > LONGEST;
            if !field.is_too_long {
                field.text.push_str(text);
            }
        } else if let Some(entry) = &mut self.entry
            && entry.bare.len() + text.len() <= LONGEST
        {
            if entry.bare.trim().is_empty() {
                (entry.bare_at, entry.bare) = (self.at, String::new());
            }
            entry.bare.push_str(text);
        }
    }

    /// A reference: one of XML's own five, a number, or one that nobody resolves.
    fn reference(&mut self, name: &str, sitemap: &mut Sitemap<'_>) {
        let resolved = match name {
            "amp" => Some('&'),
            "apos" => Some('\''),
            "gt" => Some('>'),
            "lt" => Some('<'),
            "quot" => Some('"'),
            _ => name.strip_prefix('#').and_then(character),
        };
        match resolved {
            Some(letter) => self.text(letter.encode_utf8(&mut [0; 4])),
            None if is_name(name) => sitemap.note(self.at, &format!("&{}; is not resolved", shown(name))),
            None => ["&", name, ";"].into_iter().for_each(|part| self.text(part)),
        }
    }

    /// A link whose URL is an attribute.
    fn link(&mut self, tag: &BytesStart<'_>, format: SitemapFormat) {
        let attribute = |name: &str| tag.try_get_attribute(name).ok().flatten().map(|found| value(&found.value));
        let rel = attribute("rel");
        let is_alternate = rel.as_deref().is_none_or(|rel| rel.eq_ignore_ascii_case("alternate"));
        let Some(href) = attribute("href").filter(|href| is_alternate && !href.trim().is_empty()) else { return };
        let kind = if format == SitemapFormat::Atom { SitemapEntryKind::Item } else { SitemapEntryKind::Alternate };
        let at = self.at;
        if let Some(entry) = self.entry.as_mut().filter(|entry| entry.urls.len() < MOST) {
            entry.urls.push((kind, href.trim().to_owned(), at));
        }
    }

    /// The file breaks off in an end tag, of which this is the beginning of the name.
    fn end_cut(&mut self, name: &[u8], sitemap: &mut Sitemap<'_>) {
        let is_own = |field: &Field| !name.is_empty() && field.tag.as_bytes().starts_with(name);
        if self.field.as_ref().is_some_and(is_own) {
            self.end_field(sitemap);
        }
    }

    /// The element whose text is wanted is at its end.
    fn end_field(&mut self, sitemap: &mut Sitemap<'_>) {
        let Some(Field { name, text, at, is_too_long, .. }) = self.field.take() else { return };
        let Some(entry) = &mut self.entry else { return };
        if is_too_long {
            return sitemap.note(at, "a text of more than 16 KiB");
        }
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        match name {
            Name::Url if entry.urls.len() < MOST => entry.urls.push((entry.kind, text.to_owned(), at)),
            Name::Url => sitemap.note(at, "more URLs than one entry may have"),
            Name::Instead if is_absolute(text) => _ = entry.instead.get_or_insert_with(|| (text.to_owned(), at)),
            Name::Instead | Name::Other => {}
            Name::Changed => entry.lastmod = Some(text.to_owned()),
            Name::Priority => {
                entry.priority = text.parse().ok().filter(|priority| (0.0..=1.0).contains(priority));
            }
        }
    }

    /// Tells the entry at hand. Where it is not at its end, what serves instead of a URL may still be followed by one.
    fn end_entry(&mut self, sitemap: &mut Sitemap<'_>, is_whole: bool) {
        if is_whole {
            self.end_field(sitemap);
        }
        (self.field, self.skipped) = (None, 0);
        let Some(Entry { mut urls, instead, bare, bare_at, lastmod, priority, kind }) = self.entry.take() else {
            return;
        };
        let has_own = urls.iter().any(|(kind, ..)| *kind != SitemapEntryKind::Alternate);
        if !has_own && is_whole {
            let is_feed = matches!(self.format, Some(SitemapFormat::Atom | SitemapFormat::Rss));
            let bare = Some((bare.trim().to_owned(), bare_at)).filter(|(bare, _)| !is_feed && is_absolute(bare));
            urls.extend(instead.or(bare).map(|(url, at)| (kind, url, at)));
        }
        for (kind, url, offset) in urls {
            sitemap.tell(SitemapEntry { url, kind, lastmod: lastmod.clone(), priority, offset });
        }
    }

    /// The file is at its end, or breaks off.
    fn finish(&mut self, sitemap: &mut Sitemap<'_>) {
        if self.format.is_none() && !self.is_foreign {
            sitemap.note(self.at, "no element");
        }
        if let Some(field) = self.field.as_ref().filter(|field| field.name == Name::Url) {
            sitemap.note(field.at, "it breaks off in a URL");
        }
        self.end_entry(sitemap, false);
    }
}

/// Whether an element of this name is an entry.
fn is_entry(format: SitemapFormat, name: &str) -> bool {
    match format {
        SitemapFormat::Atom => name == "entry",
        SitemapFormat::Rss => name == "item",
        _ => name == "url" || name == "sitemap",
    }
}

fn kind_of(entry: &str) -> SitemapEntryKind {
    match entry {
        "sitemap" => SitemapEntryKind::Sitemap,
        "url" => SitemapEntryKind::Page,
        _ => SitemapEntryKind::Item,
    }
}

/// What the text of an element of this name is.
fn field_of(format: SitemapFormat, name: &str) -> Option<Name> {
    match (format, name) {
        (SitemapFormat::Rss, "guid") | (SitemapFormat::Atom, "id") => Some(Name::Instead),
        (SitemapFormat::Rss, "pubdate" | "date") | (SitemapFormat::Atom, "updated" | "published") => {
            Some(Name::Changed)
        }
        (SitemapFormat::Rss, "link") | (SitemapFormat::Index | SitemapFormat::UrlSet, "loc") => Some(Name::Url),
        (SitemapFormat::Index | SitemapFormat::UrlSet, "lastmod") => Some(Name::Changed),
        (SitemapFormat::Index | SitemapFormat::UrlSet, "priority") => Some(Name::Priority),
        (SitemapFormat::Index | SitemapFormat::UrlSet, "changefreq") => Some(Name::Other),
        _ => None,
    }
}

/// An attribute's value, its references resolved as those of a text are.
fn value(raw: &str) -> String {
    let resolve = |name: &str| {
        Some(match name {
            "amp" => "&",
            "apos" => "'",
            "gt" => ">",
            "lt" => "<",
            "quot" => "\"",
            _ => "",
        })
    };
    quick_xml::escape::unescape_with(raw, resolve).map_or_else(|_| raw.to_owned(), std::borrow::Cow::into_owned)
}

/// The character of a numeric reference, without its `#`.
fn character(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    code.ok().and_then(char::from_u32).filter(|letter| *letter != '\0')
}

/// Whether this can be an entity's name: `&b=2;` in a URL is none.
fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(char::is_alphabetic)
        && letters.all(|letter| letter.is_alphanumeric() || "-_.:".contains(letter))
        && text.len() <= 64
}

fn is_absolute(text: &str) -> bool {
    let begins = |with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    (begins("http://") || begins("https://")) && !text.contains(char::is_whitespace)
}

/// The beginning of a name, for people.
fn shown(name: &str) -> &str {
    &name[..floor(name, 40)]
}
