//! Key-value stores and a database as a crawl's queue. Taken entries are removed with the next batch.

use std::path::Path;
use std::time::Duration;

use crawler::frontier::Timestamp;
use fjall::{Keyspace, KeyspaceCreateOptions, PersistMode};
use redb::{Durability, ReadableDatabase, TableDefinition};
use rusqlite::Connection;

use crate::Store;

const TABLE: TableDefinition<'_, &[u8], &str> = TableDefinition::new("queue");
const INTERVAL: Duration = Duration::from_secs(1);

/// How a queue is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// For a frontier without queues of its own: a host's URLs are adjacent.
    Host,
    /// As it is easiest for a store: new keys are always the last. Its user keeps the hosts' queues, as the journal's does.
    Admission,
}

type Key = [u8; 12];

/// Keys, and the changes of the next batch.
struct Queue {
    order: Order,
    admitted: u64,
    taken: Vec<Key>,
    synced: Timestamp,
}

impl Queue {
    fn new(order: Order) -> Self {
        Self { order, admitted: 0, taken: Vec::new(), synced: Timestamp::from_micros(0) }
    }

    fn key(&self, host: usize, ticket: u64) -> Key {
        let host = match self.order {
            Order::Host => u32::try_from(host).expect("few hosts"),
            Order::Admission => 0,
        };
        let mut key = [0; 12];
        key[..4].copy_from_slice(&host.to_be_bytes());
        key[4..].copy_from_slice(&ticket.to_be_bytes());
        key
    }

    fn admit<'a>(&mut self, batch: &'a [(usize, String)], tickets: &mut Vec<u64>) -> Vec<(Key, &'a str)> {
        let first = self.admitted;
        self.admitted += batch.len() as u64;
        tickets.extend(first..self.admitted);
        let numbered = batch.iter().zip(first..);
        numbered.map(|((host, wire), ticket)| (self.key(*host, ticket), wire.as_str())).collect()
    }

    fn take(&mut self, wanted: &[(usize, u64)]) -> &[Key] {
        let keys = wanted.iter().map(|(host, ticket)| self.key(*host, *ticket)).collect();
        self.taken = keys;
        &self.taken
    }

    fn is_sync_due(&mut self, now: Timestamp) -> bool {
        let is_due = now.since(self.synced) >= INTERVAL;
        if is_due {
            self.synced = now;
        }
        is_due
    }
}

pub(crate) struct Fjall {
    database: fjall::Database,
    keyspace: Keyspace,
    queue: Queue,
}

impl Fjall {
    pub(crate) fn open(directory: &Path, order: Order) -> Self {
        let database = fjall::Database::builder(directory).open().expect("a database");
        let keyspace = database.keyspace("queue", KeyspaceCreateOptions::default).expect("a keyspace");
        Self { database, keyspace, queue: Queue::new(order) }
    }
}

impl Store for Fjall {
    fn admit(&mut self, batch: &[(usize, String)], now: Timestamp, tickets: &mut Vec<u64>) {
        let mut write = self.database.batch();
        for key in self.queue.taken.drain(..) {
            write.remove(&self.keyspace, key);
        }
        for (key, wire) in self.queue.admit(batch, tickets) {
            write.insert(&self.keyspace, key, wire);
        }
        write.commit().expect("room");
        if self.queue.is_sync_due(now) {
            self.database.persist(PersistMode::SyncData).expect("room");
        }
    }

    fn take(&mut self, wanted: &[(usize, u64)]) -> usize {
        let keys = self.queue.take(wanted).iter();
        keys.map(|key| self.keyspace.get(key).expect("a disk").expect("an entry").len()).sum()
    }
}

pub(crate) struct Redb {
    database: redb::Database,
    queue: Queue,
}

impl Redb {
    pub(crate) fn open(directory: &Path, order: Order) -> Self {
        let database = redb::Database::create(directory.join("queue.redb")).expect("a database");
        Self { database, queue: Queue::new(order) }
    }
}

impl Store for Redb {
    fn admit(&mut self, batch: &[(usize, String)], now: Timestamp, tickets: &mut Vec<u64>) {
        let mut write = self.database.begin_write().expect("a transaction");
        if !self.queue.is_sync_due(now) {
            write.set_durability(Durability::None).expect("no savepoint is there");
        }
        {
            let mut table = write.open_table(TABLE).expect("a table");
            for key in self.queue.taken.drain(..) {
                table.remove(&key[..]).expect("room");
            }
            for (key, wire) in self.queue.admit(batch, tickets) {
                table.insert(&key[..], wire).expect("room");
            }
        }
        write.commit().expect("room");
    }

    fn take(&mut self, wanted: &[(usize, u64)]) -> usize {
        let read = self.database.begin_read().expect("a transaction");
        let table = read.open_table(TABLE).expect("a table");
        let keys = self.queue.take(wanted).iter();
        keys.map(|key| table.get(&key[..]).expect("a disk").expect("an entry").value().len()).sum()
    }
}

/// In WAL mode, which syncs when the log is moved into the table.
pub(crate) struct Sqlite {
    connection: Connection,
    queue: Queue,
}

impl Sqlite {
    pub(crate) fn open(directory: &Path, order: Order) -> Self {
        let connection = Connection::open(directory.join("queue.sqlite")).expect("a database");
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
                 CREATE TABLE queue (key BLOB PRIMARY KEY, url TEXT NOT NULL) WITHOUT ROWID;",
            )
            .expect("a table");
        Self { connection, queue: Queue::new(order) }
    }
}

impl Store for Sqlite {
    fn admit(&mut self, batch: &[(usize, String)], _: Timestamp, tickets: &mut Vec<u64>) {
        let write = self.connection.transaction().expect("a transaction");
        {
            let mut delete = write.prepare_cached("DELETE FROM queue WHERE key = ?").expect("a statement");
            for key in self.queue.taken.drain(..) {
                delete.execute([&key[..]]).expect("room");
            }
            let mut insert = write.prepare_cached("INSERT INTO queue VALUES (?, ?)").expect("a statement");
            for (key, wire) in self.queue.admit(batch, tickets) {
                insert.execute((&key[..], wire)).expect("room");
            }
        }
        write.commit().expect("room");
    }

    fn take(&mut self, wanted: &[(usize, u64)]) -> usize {
        let mut select = self.connection.prepare_cached("SELECT url FROM queue WHERE key = ?").expect("a statement");
        let mut length = |key: &Key| {
            let length = select.query_row([&key[..]], |row| row.get_ref(0)?.as_str().map(str::len).map_err(Into::into));
            length.expect("an entry")
        };
        self.queue.take(wanted).iter().map(&mut length).sum()
    }
}
