//! The names of the files that checkpoints are made of.
//!
//! A number has at least six digits, so that names sort by it, and only its shortest form is a name of ours: `hosts-0000007` is
//! another program's file, and is left alone.

/// The files of a checkpoint, in the order in which they are written.
pub(super) const FILES: [&str; 4] = ["hosts", "seen", "contents", "checkpoint"];
/// A run of evicted hosts, which several checkpoints may share.
pub(super) const RUN: &str = "evicted";

/// The name of a file with this number.
pub(super) fn name(file: &str, number: u64) -> String {
    format!("{file}-{number:06}")
}

/// The number in the name of such a file; `None` if it is another file's name.
pub(super) fn number_of(of: &str, file: &str) -> Option<u64> {
    let number = of.strip_prefix(file)?.strip_prefix('-')?.parse().ok()?;
    (name(file, number) == of).then_some(number)
}

/// The numbers of all files of one kind, ascending.
pub(super) fn numbers_of(names: &[String], file: &str) -> Vec<u64> {
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| number_of(name, file)).collect();
    numbers.sort_unstable();
    numbers
}
