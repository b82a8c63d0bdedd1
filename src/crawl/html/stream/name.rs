//! The name of a tag as one number, so that it can be compared at once.

use super::tag::is_space;

/// A tag's name in lower case: its bytes if it has up to 15, or else a hash with the highest bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(u128);

/// At most this many bytes of a name are not hashed.
const WHOLE: usize = 15;

/// Stands for the bytes that end a name. No UTF-8 text has this byte.
const END: u8 = 0xff;

/// Each byte of a name in lower case, or [`END`].
const LOWER: [u8; 256] = {
    let mut lower = [END; 256];
    let mut byte = 0;
    while byte < END {
        if !is_space(byte) && byte != b'/' && byte != b'>' {
            lower[byte as usize] = byte.to_ascii_lowercase();
        }
        byte += 1;
    }
    lower
};

/// The start tags that count in a [settled](super::structure::Outline::is_settled) body, except `<a>`.
const COUNT: [&str; 17] = [
    "area",
    "base",
    "frame",
    "iframe",
    "link",
    "math",
    "meta",
    "noembed",
    "noframes",
    "plaintext",
    "script",
    "style",
    "svg",
    "template",
    "textarea",
    "title",
    "xmp",
];

/// The tags that count in addition if resources are wanted.
const RESOURCES: [&str; 14] = [
    "audio", "body", "embed", "image", "img", "input", "object", "source", "table", "td", "th", "tr", "track", "video",
];

/// A bit that no letter has. If a byte is not a letter, it begins no tag, and counts.
const NO_LETTER: u32 = 1 << 31;
/// A bit for all bytes that are not letters, after a name of one letter.
const ENDED: u32 = 1;

/// A letter's bit, the same in both cases.
const fn bit(letter: u8) -> u32 {
    if letter.is_ascii_alphabetic() { 1 << (letter & 0x1f) } else { ENDED }
}

/// A table for each of the first three letters of a name. Its entry for a letter is a set of second letters, one bit each: those of the
/// names that count and have this letter in this place. A name can count only if its three entries have a bit in common. So a few
/// operations without branches tell nearly all tags of a page from the few that count.
struct Letters {
    first: [u32; 256],
    second: [u32; 256],
    third: [u32; 256],
}

static LETTERS: Letters = letters(&COUNT, &[]);
static LETTERS_OF_MORE: Letters = letters(&COUNT, &RESOURCES);

/// The table that recognizes these names.
const fn letters(names: &[&str], further: &[&str]) -> Letters {
    let [first, second, third] = [[NO_LETTER; 256], [NO_LETTER | ENDED; 256], [NO_LETTER | ENDED; 256]];
    let mut letters = Letters { first, second, third };
    // The second letters of two-letter names, after which a name may end.
    let mut ended = NO_LETTER | ENDED;
    let mut letter = b'A';
    while letter <= b'z' {
        let place = letter as usize;
        if letter.is_ascii_alphabetic() {
            letters.first[place] = if bit(letter) == bit(b'a') { ENDED } else { 0 };
            letters.second[place] = NO_LETTER | bit(letter);
            let mut at = 0;
            while at < names.len() + further.len() {
                let name = if at < names.len() { names[at] } else { further[at - names.len()] }.as_bytes();
                if bit(letter) == bit(name[0]) {
                    letters.first[place] |= bit(name[1]);
                }
                if name.len() == 2 {
                    ended |= bit(name[1]);
                } else if bit(letter) == bit(name[2]) {
                    letters.third[place] |= bit(name[1]);
                }
                at += 1;
            }
        }
        letter += 1;
    }
    let mut byte = 0;
    while byte < END {
        if !byte.is_ascii_alphabetic() {
            letters.third[byte as usize] = ended;
        }
        byte += 1;
    }
    letters
}

/// Whether a start tag with this beginning may matter in a settled body; with `MORE`, if resources are wanted.
#[inline]
pub(super) fn may_count<const MORE: bool>([first, second, third]: [u8; 3]) -> bool {
    let Letters { first: firsts, second: seconds, third: thirds } = if MORE { &LETTERS_OF_MORE } else { &LETTERS };
    firsts[usize::from(first)] & seconds[usize::from(second)] & thirds[usize::from(third)] != 0
}

impl Name {
    /// A name that is written in the code, in lower case.
    pub(super) const fn new(name: &str) -> Self {
        let bytes = name.as_bytes();
        assert!(bytes.len() <= WHOLE);
        let (mut packed, mut at) = (0, 0);
        while at < bytes.len() {
            packed = packed << 8 | bytes[at] as u128;
            at += 1;
        }
        Self(packed)
    }

    /// Whether an element with this name may be a part of a page, have a background, or be a script.
    pub(super) fn is_resource(self) -> bool {
        let names = [Self::AUDIO, Self::EMBED, Self::IMAGE, Self::IMG, Self::OBJECT, Self::SCRIPT, Self::SOURCE];
        names.contains(&self) || [Self::TRACK, Self::USE, Self::VIDEO].contains(&self) || self.has_background()
    }

    /// Whether an element with this name may have a `background`.
    pub(super) fn has_background(self) -> bool {
        matches!(self, Self::BODY | Self::TABLE | Self::TD | Self::TH | Self::TR)
    }

    /// Reads the name at the beginning. Returns it and its length.
    pub(super) fn read(bytes: &[u8]) -> (Self, usize) {
        let mut packed = 0;
        for (length, byte) in bytes.iter().take(WHOLE + 1).enumerate() {
            let lower = LOWER[usize::from(*byte)];
            if lower == END {
                return (Self(packed), length);
            }
            if length == WHOLE {
                return Self::read_long(bytes);
            }
            packed = packed << 8 | u128::from(lower);
        }
        (Self(packed), bytes.len())
    }

    #[cold]
    fn read_long(bytes: &[u8]) -> (Self, usize) {
        let end = bytes.iter().position(|byte| LOWER[usize::from(*byte)] == END);
        let name = &bytes[..end.unwrap_or(bytes.len())];
        // FNV-1a: a page gains nothing from two names that collide.
        let hash = name.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
            (hash ^ u128::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
        });
        (Self(hash | 1 << 127), name.len())
    }
}

macro_rules! names {
    ($($constant:ident $name:literal)*) => {
        impl Name {
            $(pub(super) const $constant: Self = Self::new($name);)*
        }
    };
}

names! {
    A "a"
    ANNOTATION_XML "annotation-xml"
    APPLET "applet"
    AREA "area"
    AUDIO "audio"
    B "b"
    BASE "base"
    BASEFONT "basefont"
    BGSOUND "bgsound"
    BIG "big"
    BLOCKQUOTE "blockquote"
    BODY "body"
    BR "br"
    BUTTON "button"
    CENTER "center"
    CODE "code"
    COL "col"
    DD "dd"
    DESC "desc"
    DIV "div"
    DL "dl"
    DT "dt"
    EM "em"
    EMBED "embed"
    FONT "font"
    FOREIGN_OBJECT "foreignobject"
    FRAME "frame"
    FRAMESET "frameset"
    H1 "h1"
    H2 "h2"
    H3 "h3"
    H4 "h4"
    H5 "h5"
    H6 "h6"
    HEAD "head"
    HR "hr"
    HTML "html"
    I "i"
    IFRAME "iframe"
    IMAGE "image"
    IMG "img"
    INPUT "input"
    KEYGEN "keygen"
    LI "li"
    LINK "link"
    LISTING "listing"
    MALIGNMARK "malignmark"
    MARQUEE "marquee"
    MATH "math"
    MENU "menu"
    META "meta"
    MGLYPH "mglyph"
    MI "mi"
    MN "mn"
    MO "mo"
    MS "ms"
    MTEXT "mtext"
    NOBR "nobr"
    NOEMBED "noembed"
    NOFRAMES "noframes"
    NOSCRIPT "noscript"
    OBJECT "object"
    OL "ol"
    P "p"
    PARAM "param"
    PLAINTEXT "plaintext"
    PRE "pre"
    RUBY "ruby"
    S "s"
    SCRIPT "script"
    SELECT "select"
    SMALL "small"
    SOURCE "source"
    SPAN "span"
    STRIKE "strike"
    STRONG "strong"
    STYLE "style"
    SUB "sub"
    SUP "sup"
    SVG "svg"
    TABLE "table"
    TD "td"
    TEMPLATE "template"
    TEXTAREA "textarea"
    TH "th"
    TITLE "title"
    TR "tr"
    TRACK "track"
    TT "tt"
    U "u"
    UL "ul"
    USE "use"
    VAR "var"
    VIDEO "video"
    WBR "wbr"
    XMP "xmp"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tags_count() {
        for tag in COUNT.into_iter().chain(["a>b", "a\n1", "A/>", "AREA", "Link", "!--", "1>b", " a>"]) {
            assert!(may_count::<false>(*tag.as_bytes().first_chunk().unwrap()), "{tag}");
        }
        for tag in COUNT.into_iter().chain(RESOURCES) {
            let tag = [tag, ">"].concat();
            assert!(may_count::<true>(*tag.as_bytes().first_chunk().unwrap()), "{tag}");
        }
        for tag in ["abbr", "br>", "div", "h1>", "li>", "p>a", "span", "tt>", "td>"] {
            assert_eq!(may_count::<true>(*tag.as_bytes().first_chunk().unwrap()), tag == "td>", "{tag}");
        }
        for tag in
            ["abbr", "b>a", "br>", "code", "div", "h1>", "img", "li>", "p>a", "span", "strong", "td>", "tr>", "ul>"]
        {
            assert!(!may_count::<false>(*tag.as_bytes().first_chunk().unwrap()), "{tag}");
        }
    }

    #[test]
    fn a_name_ends_where_the_standard_says() {
        for (text, name, length) in [
            ("a>", "a", 1),
            ("A href", "a", 1),
            ("br/>", "br", 2),
            ("a<b>", "a<b", 3),
            ("p\u{c}x", "p", 1),
            ("", "", 0),
        ] {
            assert_eq!(Name::read(text.as_bytes()), (Name::new(name), length), "{text}");
        }
        let long = |text: &str| Name::read(text.as_bytes());
        assert_eq!(long("fifteen-letters>").0, Name::new("fifteen-letters"));
        assert_eq!(long("Sixteen--letters x"), long("sixteen--letters>"));
        assert_ne!(long("sixteen--letters"), long("sixteen--lettert"));
    }
}
