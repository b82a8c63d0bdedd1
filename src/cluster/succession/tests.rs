//! Owners that race, over a transport that loses, duplicates and delays.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::cluster::in_process::InProcess;

/// The answers that the owners got.
#[derive(Debug, Default)]
struct Observed {
    /// The owners that could begin, by their tokens, with their epochs.
    began: BTreeMap<u64, u64>,
    /// Pieces that were kept, by their place in the journal.
    kept: Vec<JournalPiece>,
    /// Owners that have released the partition.
    released: Vec<u64>,
}

const PARTITION: u32 = 7;

/// Reads the log, begins, and journals a few pieces, until it is overtaken, has done enough, or is cut off.
async fn own(transport: Arc<InProcess>, token: u64, observed: Arc<Mutex<Observed>>) {
    let mut log = LogState::default();
    for _ in 0..=transport.draw(3) {
        log.read_on(&*transport, PARTITION, |_| Ok(())).await.expect("a log that owners have written");
        let Ok(mut tenure) = log.begin(Arc::clone(&transport), PARTITION, "a node", token).await else { continue };
        assert_eq!(observed.lock().unwrap().began.insert(token, tenure.log().epoch), None, "it begins once");
        let mut at = log.end;
        for _ in 0..transport.draw(6) {
            // This may take long, and another owner may take it for dead meanwhile.
            for _ in 0..transport.draw(2) * transport.draw(20) {
                transport.rest(std::time::Duration::ZERO).await;
            }
            let bytes = vec![token.to_le_bytes()[0]; 1 + usize::try_from(transport.draw(5)).unwrap()];
            let piece = JournalPiece { segment: 0, at, read: at, bytes };
            if tenure.append(EntryKind::Journal(piece.clone())).await.is_err() {
                return;
            }
            at += piece.bytes.len() as u64;
            observed.lock().unwrap().kept.push(piece);
        }
        if transport.draw(2) == 0 && tenure.append(EntryKind::Released).await.is_ok() {
            observed.lock().unwrap().released.push(token);
        }
        return;
    }
}

/// Polls all, one at random at a time; now and then one is dropped, as a process is killed.
fn run(transport: &InProcess, mut owners: Vec<Pin<Box<dyn Future<Output = ()>>>>) {
    let mut context = Context::from_waker(Waker::noop());
    while !owners.is_empty() {
        let at = usize::try_from(transport.draw(owners.len() as u64)).unwrap();
        if owners[at].as_mut().poll(&mut context).is_ready() || transport.draw(400) == 0 {
            drop(owners.swap_remove(at));
        }
    }
}

fn now<R>(future: impl Future<Output = R>) -> R {
    let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
}

/// The whole log, as a reader without any other state reads it.
fn read_all(transport: &InProcess) -> (LogState, Vec<u8>) {
    let (mut log, mut journal) = (LogState::default(), Vec::new());
    let keep = |piece: &JournalPiece| {
        journal.truncate(usize::try_from(piece.at).unwrap());
        journal.extend_from_slice(&piece.bytes);
        Ok(())
    };
    now(log.read_on(transport, PARTITION, keep)).expect("a log that owners have written");
    (log, journal)
}

/// Owners that race, are killed, stall and come back, over a transport that loses, duplicates and delays. A piece whose owner was told that
/// it is kept is there, in its place and once, whatever comes after; no overtaken owner writes; and all readers of the log read the same.
#[test]
fn ten_thousand_histories_keep_what_they_promised() {
    let (mut epochs, mut pieces, mut torn) = (0, 0, 0);
    for seed in 1..=10_000 {
        let transport = InProcess::new(seed, seed % 60);
        let observed = Arc::<Mutex<Observed>>::default();
        let count = 1 + transport.draw(5);
        let owners = (1..=count).map(|token| {
            Box::pin(own(Arc::clone(&transport), token, Arc::clone(&observed))) as Pin<Box<dyn Future<Output = ()>>>
        });
        run(&transport, owners.collect());
        transport.mend();
        let (log, journal) = read_all(&transport);
        assert_eq!(read_all(&transport), (log.clone(), journal.clone()), "seed {seed}");
        let observed = observed.lock().unwrap();
        for piece in &observed.kept {
            let at = usize::try_from(piece.at).unwrap();
            assert_eq!(journal.get(at..at + piece.bytes.len()), Some(&*piece.bytes), "seed {seed}: {piece:?}");
        }
        // Each owner that began was told an epoch of its own.
        let mut places: Vec<u64> = observed.began.values().copied().collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), observed.began.len(), "seed {seed}");
        assert!(places.last().is_none_or(|&last| last <= log.epoch), "seed {seed}");
        let is_last = |token: &u64| observed.began[token] == log.epoch;
        assert!(log.is_released || !observed.released.iter().any(is_last), "seed {seed}");
        epochs += log.epoch;
        pieces += observed.kept.len();
        torn += u64::from(log.epoch > observed.began.len() as u64);
    }
    assert!(epochs > 15_000 && pieces > 20_000, "histories with something in them: {epochs}, {pieces}");
    assert!(torn > 100, "owners were cut off between the message and its answer: {torn}");
}

#[test]
fn messages_that_no_owner_can_have_written_are_an_error() {
    let transport = InProcess::new(1, 0);
    let subject = ClusterSubject::Journal(PARTITION);
    let mut last = 0;
    let mut write = |token, what| {
        let bytes = LogEntry { token, serial: 0, follows: last, what }.to_bytes();
        last = now(transport.publish(&subject, bytes, None, None)).unwrap();
        let mut log = LogState::default();
        now(log.read_on(&*transport, PARTITION, |_| Ok(()))).map(|()| log).map_err(|error| error.to_string())
    };
    let piece = |at| EntryKind::Journal(JournalPiece { segment: 0, at, read: 0, bytes: vec![1] });
    let epoch = |number| EntryKind::Epoch { number, node: "a".to_owned() };
    write(1, epoch(1)).unwrap();
    write(1, piece(0)).unwrap();
    write(2, epoch(2)).unwrap();
    // Only a new owner replaces a torn end, and only with its first piece.
    assert_eq!(write(2, piece(0)).unwrap().end, 1);
    assert_eq!(write(2, piece(0)).unwrap_err(), "journal.7, message 5: a piece of the journal that is not the next");
}
