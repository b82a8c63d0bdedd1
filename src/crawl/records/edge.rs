//! A link of a page, as outputs get it.

/// A link of a page to a URL, whatever the gate says to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edge {
    /// The wire URL that it leads to.
    pub to: String,
    /// What it was found on: `a`, `area`, `canonical`, `frame`, `img`, `link`, `media`, `refresh`, `script`, `style` on a page, `header`
    /// in a `Link` or `Refresh` header, `redirect`, `sitemap` or `feed`; `json_ld` in structured data, `text` in a plain text; `unchanged` of a page that
    /// answered 304, as it had them before.
    pub kind: &'static str,
    /// The text of its `<a>`: white space folded, cut at 512 bytes.
    pub text: Option<String>,
    /// The `rel` of its element, likewise.
    pub rel: Option<String>,
}

impl Edge {
    /// Bytes that it takes.
    pub(in crate::crawl) fn memory(&self) -> usize {
        let texts = [&self.text, &self.rel].map(|text| text.as_ref().map_or(0, String::len));
        size_of::<Self>() + self.to.len() + texts[0] + texts[1]
    }
}
