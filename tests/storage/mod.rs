//! A storage that fails, tears and forgets: what a disk does at its worst, in memory.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use super::Storage;
use super::random::Random;

const SECTOR: usize = 512;

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing is done.
    Io,
    /// Nothing is done; the disk is full.
    NoSpace,
    /// Half is written; the disk is full.
    ShortWrite,
    /// Written up to the border of a sector.
    TornSector,
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Cut(usize),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => {
                content.resize(content.len().max(offset + bytes.len()), 0);
                content[*offset..][..bytes.len()].copy_from_slice(bytes);
            }
            Self::Cut(length) => content.resize(*length, 0),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    /// As processes see it.
    pub(crate) content: Vec<u8>,
    /// As the last sync left it on the disk.
    pub(crate) durable: Vec<u8>,
    /// What came after that.
    pub(crate) later: Vec<Change>,
}

impl Stored {
    /// A sync of so many changes has ended.
    fn settle(&mut self, changes: usize, is_ok: bool) {
        for change in self.later.drain(..changes) {
            if is_ok {
                change.apply(&mut self.durable);
            }
        }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.content);
        self.later.push(change);
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) files: BTreeMap<String, Stored>,
    /// What names stood for until the directory is synced.
    pub(crate) replaced: BTreeMap<String, Stored>,
    /// Removed, until the directory is synced.
    pub(crate) removed: BTreeMap<String, Stored>,
    /// Names that a power cut leaves.
    pub(crate) named: BTreeSet<String>,
    pub(crate) operations: u64,
    /// The operation that fails.
    pub(crate) fault: Option<(u64, Fault)>,
    pub(crate) has_sync_failed: bool,
    /// The file that is being synced, and how many of its changes.
    pub(crate) syncing: Option<(String, usize)>,
    /// How many were begun so.
    pub(crate) syncs: u64,
    /// How often a sync is asked for before it has ended.
    pub(crate) sync_lasts: u64,
    pub(crate) asked: u64,
}

impl World {
    fn step(&mut self) -> Result<(), Fault> {
        self.operations += 1;
        match self.fault {
            Some((number, fault)) if number == self.operations => Err(fault),
            _ => Ok(()),
        }
    }

    /// After the process was killed: what the operating system has.
    pub(crate) fn after_kill(&self) -> Self {
        Self { fault: None, has_sync_failed: false, operations: 0, syncing: None, ..self.clone() }
    }

    /// After the power went: what is durable, and any part of what came later.
    pub(crate) fn after_power_cut(&self, random: &mut Random) -> Self {
        let mut after = Self::default();
        let back: Vec<_> = self.removed.iter().filter(|_| random.below(2) == 0).collect();
        for (name, file) in self.files.iter().chain(back) {
            // Until the directory is synced, a file may have its old content, or not be there.
            let file = match self.replaced.get(name) {
                Some(old) if random.below(2) == 0 => old,
                _ if !self.named.contains(name) && random.below(2) == 0 => continue,
                _ => file,
            };
            let mut content = file.durable.clone();
            let survive = random.below(4);
            for change in &file.later {
                match change {
                    Change::Write { offset, bytes } if survive == 3 => {
                        // Sectors of one write reach the disk in any order.
                        let mut at = *offset;
                        while at < offset + bytes.len() {
                            let end = ((at / SECTOR + 1) * SECTOR).min(offset + bytes.len());
                            if random.below(2) == 0 {
                                let bytes = bytes[at - offset..end - offset].to_vec();
                                Change::Write { offset: at, bytes }.apply(&mut content);
                            }
                            at = end;
                        }
                    }
                    change if survive > 0 && random.below(survive + 1) > 0 => change.apply(&mut content),
                    _ => {}
                }
            }
            after.named.insert(name.clone());
            after.files.insert(name.clone(), Stored { durable: content.clone(), content, later: Vec::new() });
        }
        after
    }
}

fn error(fault: Fault) -> io::Error {
    match fault {
        Fault::Io | Fault::TornSector => io::Error::other("input/output error"),
        Fault::NoSpace | Fault::ShortWrite => io::ErrorKind::StorageFull.into(),
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Faulty(pub(crate) Rc<RefCell<World>>);

impl Faulty {
    pub(crate) fn of(world: World) -> Self {
        Self(Rc::new(RefCell::new(world)))
    }

    pub(crate) fn world(&self) -> World {
        self.0.borrow().clone()
    }

    fn on<T>(&self, name: &str, act: impl FnOnce(&mut Stored) -> T) -> io::Result<T> {
        let mut world = self.0.borrow_mut();
        world.step().map_err(error)?;
        world.files.get_mut(name).map(act).ok_or(io::ErrorKind::NotFound.into())
    }
}

impl Storage for Faulty {
    fn list(&mut self) -> io::Result<Vec<String>> {
        self.0.borrow_mut().step().map_err(error)?;
        Ok(self.0.borrow().files.keys().cloned().collect())
    }

    fn length(&mut self, name: &str) -> io::Result<u64> {
        self.on(name, |file| file.content.len() as u64)
    }

    fn create(&mut self, name: &str) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.step().map_err(error)?;
        world.files.entry(name.to_owned()).or_default().change(Change::Cut(0));
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let outcome = world.step();
        let file = world.files.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        let offset = file.content.len();
        let written = match outcome {
            Ok(()) => bytes.len(),
            Err(Fault::Io | Fault::NoSpace) => 0,
            Err(Fault::ShortWrite) => bytes.len() / 2,
            Err(Fault::TornSector) => ((offset + bytes.len()) / SECTOR * SECTOR).saturating_sub(offset),
        };
        file.change(Change::Write { offset, bytes: bytes[..written].to_vec() });
        outcome.map_err(error)
    }

    fn read_at(&mut self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.on(name, |file| {
            let rest = &file.content[file.content.len().min(usize::try_from(offset).unwrap())..];
            let read = rest.len().min(buffer.len());
            buffer[..read].copy_from_slice(&rest[..read]);
            read
        })
    }

    /// One that fails drops what it could not write; who reads it sees it still.
    fn sync(&mut self, name: &str) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let outcome = world.step();
        world.has_sync_failed |= outcome.is_err();
        let file = world.files.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        file.settle(file.later.len(), outcome.is_ok());
        // One that another handle has begun finds nothing to do.
        if let Some((_, changes)) = world.syncing.as_mut().filter(|(syncing, _)| syncing == name) {
            *changes = 0;
        }
        outcome.map_err(error)
    }

    fn begin_sync(&mut self, name: &str) -> io::Result<()> {
        let changes = self.on(name, |file| file.later.len())?;
        let mut world = self.0.borrow_mut();
        assert_eq!(world.syncing, None, "one at a time");
        (world.syncing, world.asked) = (Some((name.to_owned(), changes)), 0);
        world.syncs += 1;
        Ok(())
    }

    fn is_syncing(&mut self) -> bool {
        let mut world = self.0.borrow_mut();
        world.asked += 1;
        world.syncing.is_some() && world.asked <= world.sync_lasts
    }

    fn end_sync(&mut self) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let outcome = world.step();
        world.has_sync_failed |= outcome.is_err();
        let (name, changes) = world.syncing.take().expect("a sync was begun");
        world.files.get_mut(&name).expect("it is there").settle(changes, outcome.is_ok());
        outcome.map_err(error)
    }

    fn sync_names(&mut self) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let outcome = world.step();
        world.has_sync_failed |= outcome.is_err();
        if outcome.is_ok() {
            world.named = world.files.keys().cloned().collect();
            world.replaced.clear();
            world.removed.clear();
        }
        outcome.map_err(error)
    }

    fn truncate(&mut self, name: &str, length: u64) -> io::Result<()> {
        self.on(name, |file| file.change(Change::Cut(usize::try_from(length).unwrap())))
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.step().map_err(error)?;
        let file = world.files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        if let Some(old) = world.files.insert(to.to_owned(), file) {
            world.replaced.insert(to.to_owned(), old);
        }
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.step().map_err(error)?;
        let file = world.files.remove(name).ok_or(io::ErrorKind::NotFound)?;
        world.removed.insert(name.to_owned(), file);
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        name.into()
    }
}
