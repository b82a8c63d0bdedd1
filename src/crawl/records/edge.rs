//! A link of a page, as passed to outputs.

/// A link of a page to a URL, whether the gate admits it or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edge {
    /// The wire URL that it leads to.
    pub to: String,
    /// Where it was found: `a`, `area`, `canonical`, `frame`, `img`, `link`, `media`, `refresh`, `script`, `style` on a page; `header` in a
    /// `Link` or `Refresh` header; `redirect`, `sitemap` or `feed`; `json_ld` in structured data; `text` in plain text; `unchanged` for a
    /// page that answered 304, whose links are those of its last visit.
    pub kind: &'static str,
    /// The text of its `<a>`: white space folded, cut at 512 bytes.
    pub text: Option<String>,
    /// The `rel` of its element, likewise.
    pub rel: Option<String>,
}

impl Edge {
    /// Bytes of memory that it takes.
    pub(in crate::crawl) fn memory(&self) -> usize {
        let texts = [&self.text, &self.rel].map(|text| text.as_ref().map_or(0, String::len));
        size_of::<Self>() + self.to.len() + texts[0] + texts[1]
    }
}
