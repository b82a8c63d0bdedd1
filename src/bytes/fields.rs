//! Bytes that were written field by field, read the same way.

/// Bytes that were written field by field, numbers little-endian.
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (&bytes, rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, &'static str> {
        self.take().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, &'static str> {
        self.take().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, &'static str> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, &'static str> {
        self.take().map(u64::from_le_bytes)
    }

    /// So many bytes, field by field.
    pub(crate) fn part(&mut self, length: usize) -> Result<Self, &'static str> {
        let (part, rest) = self.0.split_at_checked(length).ok_or(SHORT)?;
        self.0 = rest;
        Ok(Self(part))
    }

    /// So many bytes, as text.
    pub(crate) fn text(&mut self, length: usize) -> Result<&'a str, &'static str> {
        let (text, rest) = self.0.split_at_checked(length).ok_or(SHORT)?;
        self.0 = rest;
        str::from_utf8(text).map_err(|_| NOT_TEXT)
    }

    /// All that is left.
    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// All that is left, as text.
    pub(crate) fn rest(&mut self) -> Result<&'a str, &'static str> {
        str::from_utf8(self.bytes()).map_err(|_| NOT_TEXT)
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> Result<(), &'static str> {
        if self.0.is_empty() { Ok(()) } else { Err("a record longer than its fields") }
    }
}

const SHORT: &str = "a record shorter than its fields";
const NOT_TEXT: &str = "a text that is not UTF-8";
