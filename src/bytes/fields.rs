//! Numbers and texts that follow one another, read in order.

use super::varint;

/// Takes bytes off the front, field by field. Numbers are little-endian.
///
/// A text or a part borrows from the bytes, so a damaged length allocates nothing. An error is a few
/// words on what is wrong. The caller knows the file and the place, and adds them.
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The fields in these bytes.
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next `N` bytes.
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (&bytes, rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// The next byte.
    pub(crate) fn u8(&mut self) -> Result<u8, &'static str> {
        self.take().map(|[byte]| byte)
    }

    /// One of these variants: the next byte is its index in the list.
    pub(crate) fn variant<T: Copy>(&mut self, variants: &[T]) -> Result<T, &'static str> {
        let code = usize::from(self.u8()?);
        variants.get(code).copied().ok_or("a code without a meaning")
    }

    /// The next two bytes, as a number.
    pub(crate) fn u16(&mut self) -> Result<u16, &'static str> {
        self.take().map(u16::from_le_bytes)
    }

    /// The next four bytes, as a number.
    pub(crate) fn u32(&mut self) -> Result<u32, &'static str> {
        self.take().map(u32::from_le_bytes)
    }

    /// The next eight bytes, as a number.
    pub(crate) fn u64(&mut self) -> Result<u64, &'static str> {
        self.take().map(u64::from_le_bytes)
    }

    /// A number of variable length: a [`varint`].
    pub(crate) fn varint(&mut self) -> Result<u64, &'static str> {
        varint::number(&mut self.0).ok_or(SHORT)
    }

    /// The next eight bytes, as an IEEE 754 number; it may be NaN or infinite.
    pub(crate) fn f64(&mut self) -> Result<f64, &'static str> {
        self.take().map(f64::from_le_bytes)
    }

    /// The next `length` bytes, as fields to be read on their own.
    pub(crate) fn part(&mut self, length: usize) -> Result<Self, &'static str> {
        let (part, rest) = self.0.split_at_checked(length).ok_or(SHORT)?;
        self.0 = rest;
        Ok(Self(part))
    }

    /// The next `length` bytes, as text.
    pub(crate) fn text(&mut self, length: usize) -> Result<&'a str, &'static str> {
        self.part(length)?.rest()
    }

    /// All that is left.
    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// All that is left, as text.
    pub(crate) fn rest(&mut self) -> Result<&'a str, &'static str> {
        str::from_utf8(self.bytes()).map_err(|_| "a text that is not UTF-8")
    }

    /// Checks that nothing is left.
    pub(crate) fn end(&self) -> Result<(), &'static str> {
        if self.0.is_empty() { Ok(()) } else { Err("a frame longer than its fields") }
    }
}

/// The error if the bytes end within a field.
const SHORT: &str = "a frame shorter than its fields";
