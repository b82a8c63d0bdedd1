//! The structure of a page: its head, and its body or its frames, as far as that decides which tags count.

use super::name::Name;
use super::tag::is_space;

/// How far reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Phase {
    BeforeHead,
    InHead,
    InNoscript,
    AfterHead,
    Body,
    /// The number of open `<frameset>`s.
    Frameset(u32),
    AfterFrameset,
}

/// Decides which tags count, by what came before: with frames, only frames count; without frames, no frame does.
#[derive(Debug)]
pub(super) struct Outline {
    phase: Phase,
    /// Nothing in the body so far rules out that a `<frameset>` replaces it.
    may_have_frames: bool,
    /// The number of open templates: their contents say nothing about the page.
    templates: u32,
}

impl Outline {
    pub(super) fn new() -> Self {
        Self { phase: Phase::BeforeHead, may_have_frames: true, templates: 0 }
    }

    /// Whether the tags that count can no longer change.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        self.phase == Phase::Body && !self.may_have_frames
    }

    /// Whether text can change the state.
    pub(super) fn hears_text(&self) -> bool {
        self.may_have_frames && !self.has_frames() || self.phase < Phase::Body && self.templates == 0
    }

    /// Whether the page consists of frames.
    pub(super) fn has_frames(&self) -> bool {
        matches!(self.phase, Phase::Frameset(_) | Phase::AfterFrameset)
    }

    pub(super) fn is_in_template(&self) -> bool {
        self.templates > 0
    }

    /// Takes text in which references are already decoded.
    pub(super) fn text(&mut self, text: &str) {
        let has_ink = text.bytes().any(|byte| !is_space(byte) && byte != b'\0');
        if self.templates == 0 && self.phase < Phase::Body && (has_ink || text.contains('\0')) {
            self.phase = Phase::Body;
        }
        self.may_have_frames &= !has_ink;
    }

    /// Takes a start tag of HTML, and returns whether it counts. `is_hidden` says that an `<input>` is invisible.
    pub(super) fn start(&mut self, name: Name, is_hidden: bool) -> bool {
        let counts = if self.templates > 0 { name != Name::FRAME } else { self.advance(name) };
        if !counts || self.has_frames() {
            return counts;
        }
        if name == Name::TEMPLATE {
            self.templates += 1;
        }
        if name == Name::TEMPLATE || self.phase == Phase::Body && forbids_frames(name, is_hidden) {
            self.may_have_frames = false;
        }
        true
    }

    fn advance(&mut self, name: Name) -> bool {
        loop {
            self.phase = match (self.phase, name) {
                (Phase::Frameset(depth), Name::FRAMESET) => {
                    self.phase = Phase::Frameset(depth + 1);
                    return true;
                }
                (Phase::Frameset(_), _) => return matches!(name, Name::FRAME | Name::NOFRAMES),
                (Phase::AfterFrameset, _) => return name == Name::NOFRAMES,
                (_, Name::HTML) => return true,
                (Phase::BeforeHead, Name::HEAD) => {
                    self.phase = Phase::InHead;
                    return true;
                }
                (Phase::InHead | Phase::InNoscript | Phase::AfterHead, Name::HEAD)
                | (Phase::InNoscript, Name::NOSCRIPT) => return false,
                (Phase::InHead, Name::NOSCRIPT) => {
                    self.phase = Phase::InNoscript;
                    return true;
                }
                (
                    Phase::InHead | Phase::InNoscript | Phase::AfterHead,
                    Name::BASEFONT | Name::BGSOUND | Name::LINK | Name::META | Name::NOFRAMES | Name::STYLE,
                )
                | (Phase::InHead | Phase::AfterHead, Name::BASE | Name::SCRIPT | Name::TEMPLATE | Name::TITLE) => {
                    return true;
                }
                (Phase::BeforeHead | Phase::InNoscript, _) => Phase::InHead,
                (Phase::InHead, _) => Phase::AfterHead,
                (Phase::AfterHead, Name::BODY) => {
                    self.phase = Phase::Body;
                    self.may_have_frames = false;
                    return true;
                }
                (Phase::AfterHead, Name::FRAMESET) => {
                    self.phase = Phase::Frameset(1);
                    return true;
                }
                (Phase::AfterHead, _) => Phase::Body,
                (Phase::Body, Name::FRAMESET) => {
                    if self.may_have_frames {
                        self.phase = Phase::Frameset(1);
                    }
                    return self.may_have_frames;
                }
                (Phase::Body, _) => return name != Name::FRAME,
            };
        }
    }

    /// Takes an end tag of HTML.
    pub(super) fn end(&mut self, name: Name) {
        if self.templates > 0 {
            self.templates -= u32::from(name == Name::TEMPLATE);
            return;
        }
        loop {
            self.phase = match (self.phase, name) {
                (Phase::Frameset(1), Name::FRAMESET) => return self.phase = Phase::AfterFrameset,
                (Phase::Frameset(depth), Name::FRAMESET) => return self.phase = Phase::Frameset(depth - 1),
                (Phase::InHead, Name::HEAD) => return self.phase = Phase::AfterHead,
                (Phase::InNoscript, Name::NOSCRIPT) => return self.phase = Phase::InHead,
                (Phase::BeforeHead, Name::HEAD | Name::BODY | Name::HTML | Name::BR)
                | (Phase::InNoscript, Name::BR) => Phase::InHead,
                (Phase::InHead, Name::BODY | Name::HTML | Name::BR) => Phase::AfterHead,
                (Phase::AfterHead, Name::BODY | Name::HTML | Name::BR) => Phase::Body,
                (Phase::Body, Name::BR) => return self.may_have_frames = false,
                _ => return,
            };
        }
    }
}

fn forbids_frames(name: Name, is_hidden: bool) -> bool {
    match name {
        Name::INPUT => !is_hidden,
        Name::APPLET
        | Name::AREA
        | Name::BODY
        | Name::BR
        | Name::BUTTON
        | Name::DD
        | Name::DT
        | Name::EMBED
        | Name::HR
        | Name::IFRAME
        | Name::IMAGE
        | Name::IMG
        | Name::KEYGEN
        | Name::LI
        | Name::LISTING
        | Name::MARQUEE
        | Name::OBJECT
        | Name::PRE
        | Name::SELECT
        | Name::TABLE
        | Name::TEXTAREA
        | Name::WBR
        | Name::XMP => true,
        _ => false,
    }
}
