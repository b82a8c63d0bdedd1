//! Where a link was found.

/// Where a link was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkKind {
    /// `<a href>`.
    Anchor,
    /// `<area href>`.
    Area,
    /// `<link rel=canonical>`.
    Canonical,
    /// `<iframe src>` or `<frame src>`.
    Frame,
    /// A resource: `<img>`, `<input type=image>`, the poster of a `<video>`, `<link rel=icon>`, a `srcset`, a background, an `<image>` or
    /// the file of a `<use>` in a drawing.
    Image,
    /// A resource: `<audio src>`, `<video src>`, `<source src>`, `<track src>`, `<embed src>`, `<object data>`; and anything else that a
    /// `<link>` loads, such as a font or a manifest.
    Media,
    /// `<meta http-equiv=refresh>`.
    Refresh,
    /// `<link rel=next>`, `prev` or `alternate`.
    Relation,
    /// A resource: `<script src>`, `<link rel=modulepreload>`, a script in a drawing.
    Script,
    /// A resource: `<link rel=stylesheet>`.
    Style,
}

impl LinkKind {
    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anchor => "a",
            Self::Area => "area",
            Self::Canonical => "canonical",
            Self::Frame => "frame",
            Self::Image => "img",
            Self::Media => "media",
            Self::Refresh => "refresh",
            Self::Relation => "link",
            Self::Script => "script",
            Self::Style => "style",
        }
    }

    /// Whether it is part of its page rather than a link to another page.
    pub(crate) const fn is_resource(self) -> bool {
        matches!(self, Self::Image | Self::Media | Self::Script | Self::Style)
    }
}
