//! The quotient layout: short fingerprints in cache lines, with fewer bits for the rate than a Bloom filter takes.
//!
//! ```text
//! fingerprint:  s s s s  h h h h h h h h h h h  b b b b b  r r r r r r r r r r r r r r r   the rest is not kept
//!               shard    home: a line           bucket     slot, 8 to 40 bits
//!
//! line, 512 bits:  header, 64 bits | slots, 448 bits: at 15 bits a slot 29 slots, and 35 buckets
//! header:          a one for each slot, and a zero after each bucket: 1 1 0 0 1 0 ... are two slots in bucket 0 and one in bucket 2
//! ```
//!
//! # A line
//!
//! A fingerprint is divided: the quotient is its line and its bucket there, which are not stored, and the remainder is its slot (Knuth 1973,
//! exercise 6.4-13; Bender and others 2012, "Don't thrash: how to cache your hash on flash"). The header says in unary how many slots each
//! bucket has, as in a vector quotient filter (Pandey and others 2021). Slots are packed without gaps, in the order of buckets and then of
//! slots. So a search counts in one word where its bucket begins, and compares all slots of the bucket at once: see [`line`].
//!
//! # A full line
//!
//! The bucket and the slot together are an *item*, a number. A full line keeps its smallest items; the last one gives way to a smaller one,
//! as in a prefix filter (Even, Even and Morrison 2022). Items that give way go to the second level: lines of the same kind, a seventh as
//! many, whose place is a hash of home and item. A full line there sends items on to a third level, and a full line there to the
//! overflow, an ordered set that is empty in all but very small filters. A search goes on only if the line is full and its item is after the line's last: for one new URL
//! in seven at capacity. See [`table`].
//!
//! So the content of a filter depends on the set of fingerprints alone, and not on their order. A union pushes each item of one filter into
//! the same level of the other, with the result that all insertions together would have had.
//!
//! # What it loses
//!
//! A new URL is taken for seen if its home has the same item. Its rate therefore grows evenly from empty to full, while that of a Bloom filter
//! is low until the filter is nearly full: at the same rate *at capacity*, fingerprints lose more than twice as many URLs *on the way there*.
//! So slots are one bit longer than the rate alone would need: a filter loses over the fill about as much as a blocked one of the same stated
//! rate, in 22 % less memory, and at capacity its rate is a third. [`levels`] has the formulas.
//!
//! # When to use another layout
//!
//! If time is worth more than memory: a test takes about 1.5 times that of `blocked`. Or if the number of shards is to change: these cannot
//! be split or joined.

mod levels;
mod line;
mod table;

pub(in crate::seen) use levels::Levels;
pub(in crate::seen) use line::Packing;
pub(in crate::seen) use table::Quotient;
