//! Owners that race, make snapshots and purge, over a transport that loses, duplicates and delays; and snapshots that were damaged.

use std::future::Future;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::*;
use crate::cluster::in_process::InProcess;
use crate::cluster::wire::{EntryKind, JournalPiece};
use crate::driver::segment_name;

const PARTITION: u32 = 3;

fn now<R>(future: impl Future<Output = R>) -> R {
    let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
        std::thread::yield_now();
    }
}

/// The journal of an owner, as a file that is to be copied.
fn journal(directory: &Path, log: &LogState) -> FileCopy {
    let name = segment_name(0);
    FileCopy { file: File::open(directory.join(&name)).unwrap(), name, length: log.end }
}

/// Takes over the partition, journals a few pieces, and makes snapshots now and then, until it is overtaken, has done enough, or is cut
/// off.
async fn own(transport: Arc<InProcess>, token: u64, directory: PathBuf, kept: Arc<Mutex<Vec<JournalPiece>>>) {
    for _ in 0..=transport.draw(3) {
        // The beginning of the log may be purged while it is read, each time.
        let Ok((log, _)) = restore(&*transport, PARTITION, Some(&directory)).await else { continue };
        let Ok(mut tenure) = log.begin(Arc::clone(&transport), PARTITION, "a node", token).await else { continue };
        let mut files = JournalFiles::open(&directory).unwrap();
        for _ in 0..transport.draw(9) {
            for _ in 0..transport.draw(2) * transport.draw(20) {
                transport.rest(std::time::Duration::ZERO).await;
            }
            let bytes = vec![token.to_le_bytes()[0]; 1 + usize::try_from(transport.draw(9)).unwrap()];
            let piece = JournalPiece { segment: 0, at: tenure.log().end, read: 0, bytes };
            files.keep(&piece).unwrap();
            if tenure.append(EntryKind::Journal(piece.clone())).await.is_err() {
                return;
            }
            kept.lock().unwrap().push(piece);
            if transport.draw(3) == 0 {
                let number = transport.draw(u64::MAX);
                let copies = vec![journal(&directory, tenure.log())];
                write(&*transport, PARTITION, tenure.log(), copies, number).await.unwrap();
            }
        }
        return;
    }
}

/// Every piece whose owner was told that it is kept is there for the next owner: in its place and once, however much of the log was purged.
#[test]
fn what_was_purged_is_in_a_snapshot() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _entered = runtime.enter();
    let (mut pieces, mut purged) = (0, 0);
    for seed in 1..=3000 {
        let base = tempfile::tempdir().unwrap();
        let transport = InProcess::new(seed, seed % 40);
        let kept = Arc::<Mutex<Vec<JournalPiece>>>::default();
        let mut owners: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
        for token in 1..=2 + transport.draw(5) {
            let directory = base.path().join(token.to_string());
            owners.push(Box::pin(own(Arc::clone(&transport), token, directory, Arc::clone(&kept))));
        }
        let mut context = Context::from_waker(Waker::noop());
        while !owners.is_empty() {
            let at = usize::try_from(transport.draw(owners.len() as u64)).unwrap();
            if owners[at].as_mut().poll(&mut context).is_ready() || transport.draw(2000) == 0 {
                drop(owners.swap_remove(at));
            }
        }
        transport.mend();
        let directory = base.path().join("last");
        let (log, _) = now(restore(&*transport, PARTITION, Some(&directory))).expect("it can be taken over");
        let journal = fs::read(directory.join(segment_name(0))).unwrap_or_default();
        assert_eq!(journal.len() as u64, log.end, "seed {seed}");
        let kept = kept.lock().unwrap();
        for piece in kept.iter() {
            let at = usize::try_from(piece.at).unwrap();
            assert_eq!(journal.get(at..at + piece.bytes.len()), Some(&*piece.bytes), "seed {seed}: {piece:?}");
        }
        let head = now(restore(&*transport, PARTITION, None)).unwrap().0;
        assert_eq!(head, log, "seed {seed}: without the files it says the same");
        let first = now(transport.next(&ClusterSubject::Journal(PARTITION), 0)).unwrap();
        pieces += kept.len();
        purged += usize::from(first.is_some_and(|first| first.sequence > 1 && log.epoch > 1));
    }
    assert!(pieces > 10_000 && purged > 500, "histories with something in them: {pieces}, {purged}");
}

/// A partition whose log was purged twice, with files of more than one message.
fn purged(base: &Path) -> (Arc<InProcess>, LogState, Vec<u8>) {
    let transport = InProcess::new(1, 0);
    let directory = base.join("owner");
    let (log, _) = now(restore(&*transport, PARTITION, Some(&directory))).unwrap();
    let mut tenure = now(log.begin(Arc::clone(&transport), PARTITION, "a node", 1)).unwrap();
    let mut files = JournalFiles::open(&directory).unwrap();
    for number in 0..6_u8 {
        let piece = JournalPiece { segment: 0, at: tenure.log().end, read: 0, bytes: vec![number; MOST / 3] };
        files.keep(&piece).unwrap();
        now(tenure.append(EntryKind::Journal(piece))).unwrap();
        if number % 2 == 1 {
            let copies = vec![journal(&directory, tenure.log())];
            let made = now(write(&*transport, PARTITION, tenure.log(), copies, number.into())).unwrap();
            assert_eq!(made.map(|made| made.end), Some(tenure.log().end));
        }
    }
    (transport, tenure.log().clone(), fs::read(directory.join(segment_name(0))).unwrap())
}

#[test]
fn where_the_newest_is_damaged_the_one_before_serves() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _entered = runtime.enter();
    let base = tempfile::tempdir().unwrap();
    let (transport, expected, bytes) = purged(base.path());
    let restored = |name: &str| {
        let directory = base.path().join(name);
        let restored = now(restore(&*transport, PARTITION, Some(&directory)));
        restored.map(|(log, snapshot)| (log, snapshot.token, fs::read(directory.join(segment_name(0))).unwrap()))
    };
    assert_eq!(restored("whole").unwrap(), (expected.clone(), 5, bytes.clone()));
    let subject = ClusterSubject::Snapshot(PARTITION);
    let count = transport.count(&subject);
    assert!((6..=9).contains(&count), "the first of three is gone: {count} messages");
    // The last message is of the newest, the first of the one before it.
    transport.damage(&subject, count - 1);
    assert_eq!(restored("newest damaged").unwrap(), (expected, 3, bytes));
    transport.damage(&subject, 0);
    let error = restored("both damaged").unwrap_err().to_string();
    let expected = "partition 3: no snapshot serves, and the log is not whole: its checksum is another";
    assert_eq!(error, format!("the log of the crawl is damaged: {expected}"));
}

/// A name that arrives late, after newer names whose purges have removed its snapshot, replaces none of them.
#[test]
fn a_name_that_arrives_late_does_no_harm() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _entered = runtime.enter();
    let base = tempfile::tempdir().unwrap();
    let (transport, expected, _) = purged(base.path());
    let newest = now(named(&*transport, PARTITION));
    assert_eq!(newest.iter().map(|(_, snapshot)| snapshot.token).collect::<Vec<_>>(), [5, 3]);
    let gone = SnapshotValue { token: 1, behind: 0, last: 3, ..newest[1].1 };
    for late in [gone, newest[1].1, gone] {
        now(send(&*transport, &ClusterSubject::Named(PARTITION), value_to_bytes(&late)));
    }
    let (log, snapshot) = now(restore(&*transport, PARTITION, Some(&base.path().join("next")))).unwrap();
    assert_eq!((log, snapshot), (expected, newest[0].1));
}

/// An owner that was stopped for long meets messages that follow messages it never read, and knows that it no longer owns the partition.
#[test]
fn an_owner_that_slept_through_a_purge_is_fenced() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _entered = runtime.enter();
    let base = tempfile::tempdir().unwrap();
    let transport = InProcess::new(1, 0);
    let begin = |log: &LogState, token| now(log.begin(Arc::clone(&transport), PARTITION, "a node", token)).unwrap();
    let mut sleeper = begin(&LogState::default(), 1);
    let (log, _) = now(restore(&*transport, PARTITION, None)).unwrap();
    let mut awake = begin(&log, 2);
    for number in 0..4 {
        now(awake.append(EntryKind::Counts(vec![number]))).unwrap();
        let file = File::create_new(base.path().join(number.to_string())).unwrap();
        let copies = vec![FileCopy { name: segment_name(0), file, length: 0 }];
        now(write(&*transport, PARTITION, awake.log(), copies, number.into())).unwrap().unwrap();
    }
    assert_eq!(transport.count(&ClusterSubject::Journal(PARTITION)), 2, "the epochs are gone");
    assert!(now(sleeper.append(EntryKind::Released)).is_err());
    now(awake.append(EntryKind::Counts(vec![9]))).expect("it goes on");
    assert_eq!(now(restore(&*transport, PARTITION, None)).unwrap().0.counts, [9]);
}
