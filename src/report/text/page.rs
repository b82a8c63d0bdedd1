//! A page of text for people: headings, facts and tables.

use std::iter;

/// A line has at most this many columns. The rest is cut.
const COLUMNS: usize = 80;
/// The first cell of a table's row has at most this many columns. The rest is cut.
const NAME: usize = 38;
/// Columns before the words of an entry.
const ENTRY: usize = 20;

/// A page of text for people. It has only printable ASCII, since some names come from the web.
#[derive(Debug, Default)]
pub(super) struct TextPage(String);

impl TextPage {
    /// Begins a section.
    pub(super) fn heading(&mut self, words: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.push(words);
    }

    /// Words after an empty line, on as many lines as they take.
    pub(super) fn paragraph(&mut self, words: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.words(words);
    }

    /// Words on as many lines as they take.
    pub(super) fn words(&mut self, words: &str) {
        let mut line = String::new();
        for word in words.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > COLUMNS {
                self.push(&std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.push(&line);
    }

    /// A line of its own.
    pub(super) fn line(&mut self, words: &str) {
        self.push(&format!("  {words}"));
    }

    /// A number with its name and a note.
    pub(super) fn fact(&mut self, name: &str, number: &str, note: &str) {
        self.wrapped(&format!("  {name:<32} {number:>11}"), note);
    }

    /// A short answer, with its name.
    pub(super) fn entry(&mut self, name: &str, words: &str) {
        self.wrapped(&format!("  {name:<0$}", ENTRY - 4), words);
    }

    /// A name from the web, and words about it. Words that do not fit beside the name go below it, indented by two more columns.
    pub(super) fn named(&mut self, name: &str, words: &str) {
        if name.chars().count() + words.chars().count() + 4 <= COLUMNS {
            self.line(&format!("{name}  {words}"));
        } else {
            let indent = name.chars().take_while(|&character| character == ' ').count() + 2;
            self.line(name);
            self.line(&format!("{:indent$}{words}", ""));
        }
    }

    /// Words after a beginning, on as many lines as they take.
    fn wrapped(&mut self, beginning: &str, words: &str) {
        let indent = beginning.chars().count() + 2;
        let mut line = format!("{beginning}  ");
        let mut columns = indent;
        for word in words.split(' ') {
            let width = word.chars().count();
            if columns > indent && columns + width > COLUMNS {
                self.push(&line);
                line = " ".repeat(indent);
                columns = indent;
            }
            line.push_str(word);
            line.push(' ');
            columns += width + 1;
        }
        self.push(&line);
    }

    /// One line for each row: names on the left, numbers on the right, in columns as wide as they need to be. The first row has the
    /// columns' names. A column that is empty or zero in all other rows is left out.
    pub(super) fn table<const N: usize>(&mut self, rows: &[[String; N]]) {
        let is_empty = |column: usize| {
            rows.iter().skip(1).all(|row| matches!(&*row[column], "" | "-" | "0")) && column > 0 && rows.len() > 1
        };
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        let mut widths: [usize; N] = std::array::from_fn(width);
        widths[0] = widths[0].min(NAME);
        for row in rows {
            let name = format!("{:<1$}", cut(&row[0], NAME), widths[0]);
            let shown = row.iter().zip(widths).enumerate().skip(1).filter(|&(column, _)| !is_empty(column));
            let numbers = shown.map(|(_, cell)| cell).map(|(cell, width)| format!("{cell:>width$}"));
            self.line(&iter::once(name).chain(numbers).collect::<Vec<_>>().join("  "));
        }
    }

    /// The text.
    pub(super) fn finish(self) -> String {
        self.0
    }

    /// A line that begins in the first column.
    pub(super) fn push(&mut self, line: &str) {
        let printable = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
        let line: String = line.trim_end().chars().map(printable).collect();
        self.0.push_str(&cut(&line, COLUMNS));
        self.0.push('\n');
    }
}

/// The text, cut to this many columns. Three dots stand for the rest.
fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        text.to_owned()
    } else {
        text.chars().take(columns - 3).chain("...".chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_and_cut() {
        let mut page = TextPage::default();
        page.table(&[["", "count"], ["short", "1"], [&"long".repeat(20), "1,000"]].map(|row| row.map(str::to_owned)));
        let long = "long".repeat(8) + "lon...";
        assert_eq!(page.finish(), format!("  {:38}  count\n  {:38}      1\n  {long}  1,000\n", "", "short"));
    }

    #[test]
    fn a_column_that_says_nothing_is_left_out() {
        let mut page = TextPage::default();
        let rows = [["", "pages", "lost", "robots"], ["a.test", "1", "0", "-"], ["b.test", "0", "", "-"]];
        page.table(&rows.map(|row| row.map(str::to_owned)));
        assert_eq!(page.finish(), "          pages\n  a.test      1\n  b.test      0\n");
    }

    #[test]
    fn a_paragraph_is_wrapped_and_not_cut() {
        let mut page = TextPage::default();
        page.paragraph(&["word"; 20].join(" "));
        let (first, rest) = (["word"; 16].join(" "), ["word"; 4].join(" "));
        assert_eq!(page.finish(), format!("{first}\n{rest}\n"));
    }

    #[test]
    fn nothing_a_terminal_obeys_comes_out() {
        let mut page = TextPage::default();
        page.heading("a\u{1b}[2Jb\nc\u{202e}d");
        page.line(&"x".repeat(200));
        let text = page.finish();
        assert_eq!(text.lines().next(), Some("a?[2Jb?c?d"));
        assert!(text.lines().all(|line| line.len() <= COLUMNS), "{text}");
    }
}
