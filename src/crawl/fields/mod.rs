//! Fields that users select from pages by CSS, for the records.
//!
//! A [`FieldRule`] is what the user wrote. A [`FieldSet`] is all rules of a crawl, compiled; it builds a tree of a page and takes a
//! [`FieldValue`] for each rule. A crawl without fields uses none of this: links, title and directives are scanned, and no tree is built.

mod field_error;
mod field_rule;
mod field_set;
mod field_value;
mod selector;
mod text;

pub use field_error::FieldError;
pub use field_rule::{FieldPart, FieldRule};
pub use field_set::FieldSet;
pub use field_value::FieldValue;
