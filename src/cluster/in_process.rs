//! A transport within one process, for tests. It loses, duplicates and delays messages, at a given rate.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::transport::{
    Arrival, Arrivals, ClusterSubject, ClusterTransport, KeyKind, Message, PublishError, Unreachable,
};

/// Keeps messages in memory. It uses no clock: a rest only lets the other tasks run.
#[derive(Debug)]
pub(crate) struct InProcess(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    sequence: u64,
    logs: BTreeMap<ClusterSubject, Vec<Message>>,
    ids: BTreeSet<String>,
    /// Messages that are still on their way, although their sender was told that no answer came.
    late: Vec<(ClusterSubject, Vec<u8>)>,
    dice: u64,
    /// How many calls in a hundred go wrong.
    percent: u64,
    /// Receivers of each message that is kept.
    listeners: Vec<(ClusterSubject, UnboundedSender<Arrival>)>,
}

impl Kept {
    /// The next random number below a bound (xorshift64*).
    fn draw(&mut self, below: u64) -> u64 {
        self.dice ^= self.dice >> 12;
        self.dice ^= self.dice << 25;
        self.dice ^= self.dice >> 27;
        (self.dice.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % below
    }

    fn fails(&mut self) -> bool {
        self.draw(100) < self.percent
    }

    fn keep(&mut self, subject: &ClusterSubject, bytes: Vec<u8>, after: Option<u64>) -> Result<u64, PublishError> {
        let log = self.logs.entry(subject.clone()).or_default();
        let last = log.last().map_or(0, |last| last.sequence);
        if after.is_some_and(|after| after != last) {
            return Err(PublishError::Refused);
        }
        if matches!(subject, ClusterSubject::Key(_)) {
            log.clear();
        }
        self.sequence += 1;
        let message = Message { sequence: self.sequence, bytes };
        log.push(message.clone());
        if !self.fails() {
            let arrival = Arrival { message, previous: last };
            self.listeners.retain(|(to, listener)| to != subject || listener.send(arrival.clone()).is_ok());
        }
        Ok(self.sequence)
    }

    /// In one of four calls, one of the late messages arrives.
    fn arrive(&mut self) {
        if !self.late.is_empty() && self.draw(4) == 0 {
            let at = self.draw(self.late.len() as u64);
            let (subject, bytes) = self.late.swap_remove(usize::try_from(at).expect("few"));
            // It was checked when it was sent, and is not checked again, as in a cluster of servers.
            let _ = self.keep(&subject, bytes, None);
        }
    }

    /// Whether the message that this one must follow is still the last one.
    fn takes(&self, subject: &ClusterSubject, after: Option<u64>) -> bool {
        let last = self.logs.get(subject).and_then(|log| log.last()).map_or(0, |last| last.sequence);
        after.is_none_or(|after| after == last)
    }

    /// Puts a message on its way, if the message that it must follow is still the last one.
    fn send_late(&mut self, subject: &ClusterSubject, bytes: Vec<u8>, after: Option<u64>) {
        if self.takes(subject, after) {
            self.late.push((subject.clone(), bytes));
        }
    }
}

impl InProcess {
    pub(crate) fn new(seed: u64, percent: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Kept {
            sequence: 0,
            logs: BTreeMap::new(),
            ids: BTreeSet::new(),
            late: Vec::new(),
            dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            percent,
            listeners: Vec::new(),
        })))
    }

    fn with<R>(&self, act: impl FnOnce(&mut Kept) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A random number below a bound.
    pub(crate) fn draw(&self, below: u64) -> u64 {
        self.with(|kept| kept.draw(below))
    }

    /// How many messages of a subject are kept.
    pub(crate) fn count(&self, subject: &ClusterSubject) -> usize {
        self.with(|kept| kept.logs.get(subject).map_or(0, Vec::len))
    }

    /// Changes a byte of a message, given its index among the messages of its subject.
    pub(crate) fn damage(&self, subject: &ClusterSubject, at: usize) {
        self.with(|kept| kept.logs.get_mut(subject).expect("a subject with messages")[at].bytes[20] ^= 1);
    }

    /// From this call on, nothing goes wrong, and nothing is on its way.
    pub(crate) fn mend(&self) {
        self.with(|kept| {
            kept.percent = 0;
            kept.late.clear();
        });
    }

    /// Lets other tasks run, a few times.
    async fn wander(&self) {
        for _ in 0..self.draw(3) {
            Turn(false).await;
        }
    }
}

/// Lets the other tasks run once.
struct Turn(bool);

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl ClusterTransport for InProcess {
    async fn publish(
        &self,
        subject: &ClusterSubject,
        bytes: Vec<u8>,
        after: Option<u64>,
        id: Option<String>,
    ) -> Result<u64, PublishError> {
        self.wander().await;
        if after.is_some() && self.with(|kept| kept.fails() && kept.takes(subject, after)) {
            // If two messages are on their way at once, a cluster of servers may keep and acknowledge both.
            self.wander().await;
            return self.with(|kept| kept.keep(subject, bytes, None));
        }
        let lost = || Err(PublishError::Unanswered("no answer".to_owned()));
        let answer = self.with(|kept| {
            kept.arrive();
            if id.is_some_and(|id| !kept.ids.insert(id)) {
                return Ok(kept.sequence);
            }
            if !kept.fails() {
                return kept.keep(subject, bytes, after);
            }
            match kept.draw(4) {
                0 => {}
                1 => _ = kept.keep(subject, bytes, after),
                2 => {
                    kept.send_late(subject, bytes.clone(), after);
                    let _ = kept.keep(subject, bytes, after);
                }
                _ => kept.send_late(subject, bytes, after),
            }
            lost()
        });
        self.wander().await;
        answer
    }

    async fn next(&self, subject: &ClusterSubject, after: u64) -> Result<Option<Message>, Unreachable> {
        self.wander().await;
        self.with(|kept| {
            kept.arrive();
            if kept.fails() {
                return if kept.draw(2) == 0 { Ok(None) } else { Err(Unreachable("no answer".to_owned())) };
            }
            let log = kept.logs.get(subject).map_or(&[][..], Vec::as_slice);
            Ok(log.iter().find(|message| message.sequence > after).cloned())
        })
    }

    async fn last(&self, subject: &ClusterSubject) -> Result<Option<Message>, Unreachable> {
        self.wander().await;
        Ok(self.with(|kept| kept.logs.get(subject).and_then(|log| log.last().cloned())))
    }

    async fn purge(&self, subject: &ClusterSubject, before: u64) -> Result<(), Unreachable> {
        self.wander().await;
        self.with(|kept| {
            let fails = kept.fails();
            if let Some(log) = kept.logs.get_mut(subject).filter(|_| !fails) {
                log.retain(|message| message.sequence >= before);
            }
            if fails { Err(Unreachable("no answer".to_owned())) } else { Ok(()) }
        })
    }

    async fn keys(&self, kind: KeyKind) -> Result<Vec<ClusterSubject>, Unreachable> {
        self.wander().await;
        let is_of = |subject: &&ClusterSubject| matches!(subject, ClusterSubject::Key(key) if key.is_of(kind));
        Ok(self.with(|kept| kept.logs.keys().filter(is_of).cloned().collect()))
    }

    async fn arrivals(&self, subject: &ClusterSubject) -> Result<Arrivals, Unreachable> {
        let (listener, mut arrivals) = unbounded_channel();
        self.with(|kept| kept.listeners.push((subject.clone(), listener)));
        Ok(Arrivals::new(move |context| {
            arrivals.poll_recv(context).map(|arrival| arrival.expect("a listener is kept"))
        }))
    }

    async fn kept_at(&self, _: &ClusterSubject) -> Result<Option<SystemTime>, Unreachable> {
        Ok(None)
    }

    async fn missing(&self) -> Result<Option<String>, Unreachable> {
        Ok(None)
    }

    async fn rest(&self, _: Duration) {
        Turn(false).await;
        self.wander().await;
    }
}
