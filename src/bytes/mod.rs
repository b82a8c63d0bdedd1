//! Bytes on disk: numbers and fields, and how a file is cut into pieces that are checked one by one.

mod fields;
pub(crate) mod varint;

pub(crate) use fields::Fields;
