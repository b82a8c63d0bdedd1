//! A contender: a database table with the URL as its key. The one door to `SQLite`.

use rusqlite::{Connection, params};

use super::contenders::Contender;

/// Maximum number of URLs that are tried: each takes microseconds.
pub(super) const MAX_URLS: usize = 1_000_000;

/// In memory and in a single transaction: a database at its best.
pub(super) struct Table(Connection);

impl Table {
    pub(super) fn new() -> Result<Self, String> {
        let open = || {
            let connection = Connection::open_in_memory()?;
            connection.execute_batch("CREATE TABLE seen (url TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN")?;
            Ok(connection)
        };
        open().map(Self).map_err(|error: rusqlite::Error| error.to_string())
    }

    fn number(&self, pragma: &str) -> u64 {
        // The page count and the page size, both at least 0.
        self.0.query_row(pragma, [], |row| row.get::<_, i64>(0)).expect(IN_MEMORY).unsigned_abs()
    }
}

/// Why no statement fails.
const IN_MEMORY: &str = "a statement that was tested, on a table in memory, fails only as any allocation does";

impl Contender<str> for Table {
    fn insert(&mut self, key: &str) -> bool {
        let mut insert = self.0.prepare_cached("INSERT OR IGNORE INTO seen VALUES (?)").expect(IN_MEMORY);
        insert.execute(params![key]).expect(IN_MEMORY) == 1
    }

    fn contains(&self, key: &str) -> bool {
        let mut select = self.0.prepare_cached("SELECT 1 FROM seen WHERE url = ?").expect(IN_MEMORY);
        select.exists(params![key]).expect(IN_MEMORY)
    }

    fn bytes(&self) -> u64 {
        self.number("PRAGMA page_count") * self.number("PRAGMA page_size")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_knows_what_it_was_shown() {
        let mut table = Table::new().unwrap();
        assert_eq!(
            ["http://a.org/", "http://b.org/", "http://a.org/"].map(|url| table.insert(url)),
            [true, true, false]
        );
        assert!(table.contains("http://b.org/") && !table.contains("http://c.org/"));
        let empty = Table::new().unwrap().bytes();
        for page in 0..5000 {
            table.insert(&format!("http://a.org/{page}"));
        }
        assert!(table.bytes() > empty + 5000 * 17, "{} bytes", table.bytes());
    }
}
