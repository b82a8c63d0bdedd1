//! The exact layout: fingerprints in cache lines, in a table that grows by splitting its lines.
//!
//! ```text
//! fingerprint:  s s s s  h h h h h h h h h h h  i i i i i i i i i i i i i i i i i i ...  the rest is not kept
//!               shard    home: a line           identity, 16 to 56 bits
//!
//! line, 512 bits:  16 bits of 12 slots | the other 23 bits of each | 12 distances | count | displaced
//! slot:            i i i i i i i i i i i 1 0 0        identity, a mark, and a zero for each doubling since
//! ```
//!
//! # A line
//!
//! The bits after the shard's number choose a home line, and the next 38, the identity, are kept there. 16 bits of each slot are in one
//! array, and are compared for all slots at once. The others are in a second array, which is read only if those 16 match: see [`line`].
//! With 12 slots a line, filled to 86 %, a URL takes 6.3 bytes. A test reads one line, and a second one if the first is full. If 7 of 10
//! tests are for URLs that were shown, it reads 1.03 lines on the way from empty to full, 1.05 in a table that doubles, and 1.19 at the
//! end.
//!
//! If its home line is full, a slot is *displaced* to one of three later lines, and the home line counts it. Each slot has its distance from
//! home, as one of four, so a search knows which slots to compare, and ends when it has met all displaced ones. A slot that finds no place
//! in four lines is kept in a small ordered set, the overflow: [`table`].
//!
//! Removal takes the slot out, and the line's last one moves to its place. No tombstones are left.
//!
//! # Growth
//!
//! At a load of 86 % a second table of twice as many lines is made, and each new URL splits four lines. The next bit of a slot's identity
//! tells which half it goes to, and is no longer part of the identity. Lines are split from the last to the first, so a home number tells which of the
//! two tables has it, and a test still reads one line. The old table's memory is given back on the way: together the two never hold more
//! than the new one will. A table of 2 MiB and more that was made at once is in huge pages, which are given back at the end: in that one
//! split the two hold 1.5 times as much. See [`growing`].
//!
//! # What it loses
//!
//! A new URL is taken for seen if a slot of its home has the same identity bits. A slot that was split `a` times has `38 - a` bits left,
//! and the zeros after its mark say so: the shape of a Taffy filter (Apple 2022, "Stretching your data with Taffy filters") and of
//! `InfiniFilter` (Dayan, Bercea, Reviriego and Pagh 2023). In a table that doubled, older slots are shorter, but there are half as many of
//! each generation. So the error a test grows with the *number* of doublings, not with the size (Pagh, Segev and Wieder 2013, "How to
//! approximate a set without knowing its size in advance"). A slot that has no bits left is kept in both halves, as in an Aleph filter
//! (Dayan, Bercea and Pagh 2024).
//!
//! Exactly: a slot with `b` bits of identity at one of `L` lines covers the share `2^-b / L` of all fingerprints of the shard, and
//! splitting does not change this share. The rate is the sum of all shares, which [`Generations`](table::Generations) counts. With 38 bits
//! a full table takes one new URL in 25 billion for seen; a crawl of a billion loses one with a chance of 1 in 50.
//!
//! # When to use another layout
//!
//! If there are 3 bytes of memory a URL, not 6.3. With a disk, `verified` loses nothing in that memory, at the price of reads. Without a
//! disk, `blocked` loses the stated share. A table with 16 bits of identity also takes 3 bytes a URL, grows and forgets. But if the number
//! of URLs is known, `blocked` is faster and loses less in that memory.

mod growing;
mod line;
mod table;

pub(in crate::seen) use growing::{Lines, Range, Splitting};
pub(in crate::seen) use line::Geometry;
pub(in crate::seen) use table::LineTable;
