//! Live equals replay: a frontier that is restored, from a checkpoint and the records after it or from all records, equals the live one bit
//! for bit, whatever acts came before, and wherever among them the checkpoint was begun and continued.

mod acts;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use self::acts::{Act, acts, given_up_and_asked_for};
use self::world::{Checkpoint, Images, OnDisk, Puppet, WithEvicted, journal};
use crate::address::{FingerprintKey, Identity, path_and_query};
use crate::frontier::durable::image;
use crate::frontier::state::State;
use crate::frontier::{
    DisallowedRecord, Dropped, Entry, Frontier, HostCost, HostStatus, LeaseKind, Next, Outcome, Receipt, Receipts,
    ReceiptsBuf, Record, Resume, Settled, Timestamp,
};
use crate::gate::{DropRule, Gate, Position, Refusal};
use crate::job::journal::FileJournal;
use crate::seen::{Layout, SeenSet};
use world::{IDENTITIES, Rules, options, rules, url};

/// Everything that a frontier knows, as bytes: each host with its queue by its key, in memory or not; the schedule; the counts; the
/// budgets.
///
/// The surroundings that the seeds opened are left out: a seed that the filter mistakes for seen opens its host, and no record says so.
fn bytes(state: &State, images: &Images) -> Vec<u8> {
    let mut hosts = images.clone();
    for (host, usage) in state.hosts().with_usage() {
        let mut image = Vec::new();
        image::save(host, usage, state.back(), &mut image);
        hosts.insert(host.key.to_string(), image);
    }
    let mut bytes: Vec<u8> = hosts.into_values().flatten().collect();
    let mut rest = Some(0);
    while let Some(from) = rest {
        rest = state.schedule().save(from, &mut bytes);
    }
    let gate = state.gate();
    let groups: Vec<_> =
        (0..).zip(state.hosts().politeness_table().groups()).map(|(group, _)| state.group_usage(group)).collect();
    bytes.extend_from_slice(format!("{groups:?}").as_bytes());
    bytes.extend_from_slice(
        format!("{:?} {:?} {} {:?}", state.count(), state.rules(), gate.admitted(), gate.budgets().slots()).as_bytes(),
    );
    state.leases().save(&mut bytes);
    state.back().priorities().save(&mut bytes);
    let mut rest = Some(Position::default());
    while let Some(from) = rest {
        rest = state.rescored().save(from, &mut bytes);
    }
    bytes
}

fn roots(state: &State) -> BTreeSet<String> {
    let gate = state.gate();
    gate.roots().into_iter().chain(gate.budgets().originals()).collect()
}

/// The contents of its filters; for an exact set, in order.
fn cells(seen: &SeenSet) -> Vec<u64> {
    if seen.options().layout == Layout::Exact {
        return seen.kept();
    }
    let mut file = Vec::new();
    seen.save(&mut file).unwrap();
    let (mut rest, mut cells) = (&file[12..], Vec::new());
    while let Some((length, more)) = rest.split_first_chunk() {
        let payload = &more[..u32::from_le_bytes(*length) as usize];
        // Headers, a shard's counters and a layer's size are not whole words.
        if payload.len() % 8 == 0 {
            cells.extend(payload.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())));
        }
        rest = &more[payload.len() + 8..];
    }
    assert!(!cells.is_empty());
    cells
}

/// What becomes of the pages that are left, by host or queue.
#[derive(Debug, Default, PartialEq, Eq)]
struct Drained {
    /// Which pages were asked for or given up, in order, and how many attempts they had had before.
    asked: BTreeMap<String, Vec<(String, u8)>>,
    /// Which pages were dropped at their turn, because of robots.txt, a rule or a budget, and how often. Not in order: one call drops and
    /// releases a bounded number, so the turns of other hosts decide what is dropped before a better page is released.
    dropped: BTreeMap<String, BTreeMap<(String, Refusal), u64>>,
}

impl Drained {
    /// Every page as often as it was queued, whatever became of it.
    fn pages(&self) -> Vec<&str> {
        let asked = self.asked.values().flatten().map(|(page, _)| &**page);
        let dropped = self.dropped.values().flatten();
        let dropped = dropped.flat_map(|((page, _), times)| (0..*times).map(move |_| &**page));
        let mut all: Vec<_> =
            asked.chain(dropped).map(|page| page.split_once(' ').map_or(page, |(url, _)| url)).collect();
        all.sort_unstable();
        all
    }
}

/// Crawls until nothing is left.
fn drain(frontier: &mut OnDisk, mut now: Timestamp) -> Drained {
    let mut drained = Drained::default();
    frontier.keep_dropped();
    loop {
        let next = frontier.next(now).unwrap();
        for Dropped { url, refusal, .. } in frontier.take_dropped().0 {
            let host = url.strip_suffix(path_and_query(&url)).unwrap().to_owned();
            *drained.dropped.entry(host).or_default().entry((url, refusal)).or_default() += 1;
        }
        match next {
            Next::Fetch(lease) => {
                let outcome = Outcome::response(&lease, 404, b"");
                if lease.kind() == LeaseKind::Page {
                    let of_host = drained.asked.entry(lease.host_key().to_owned()).or_default();
                    let own = (lease.identity(), lease.metadata().len());
                    of_host.push((format!("{} {own:?}", lease.url()), lease.attempt()));
                }
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::GiveUp(lease) => {
                let of_host = drained.asked.entry(lease.host_key().to_owned()).or_default();
                of_host.push((format!("{} {:?}", lease.url(), lease.trouble()), lease.attempt()));
                frontier.complete(lease, Outcome::GivenUp, now).unwrap();
            }
            Next::Wait(until) => now = now.max(until),
            Next::Busy | Next::Drained => return drained,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_made_again_is_what_was(acts in acts(), with_checkpoint in any::<bool>(), rules in rules()) {
        is_made_again(&acts, with_checkpoint, rules, 0)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    /// Enough are scheduled that a checkpoint has them in several chunks.
    #[test]
    fn a_long_schedule_is_made_again(acts in acts()) {
        is_made_again(&acts, true, Rules::of(Layout::Blocked), 8000)?;
    }

    /// A page that was given up is no longer done once it is asked for again, and that is counted once.
    #[test]
    fn what_was_given_up_is_asked_for_once(acts in given_up_and_asked_for()) {
        is_made_again(&acts, true, Rules::of(Layout::Blocked), 0)?;
    }

    /// Enough are found that a counting filter mistakes many new ones for seen, and forgets some by mistake.
    #[test]
    fn what_is_forgotten_is_forgotten_once(acts in acts()) {
        is_made_again(&acts, true, Rules::of(Layout::Counting), 60)?;
    }
}

/// Runs the acts after scheduling `crowd` URLs, one a second, and checks that the frontier is restored as it was.
fn is_made_again(acts: &[Act], with_checkpoint: bool, rules: Rules, crowd: u64) -> Result<(), TestCaseError> {
    // The journal does not record how long hosts have been waited for: either all failing hosts are given up at once, or none.
    let patience = if acts.len().is_multiple_of(2) { Duration::ZERO } else { Duration::from_secs(1_000_000) };
    let (rules, layout) = (Rules { patience, ..rules }, rules.layout);
    let directory = tempfile::tempdir().unwrap();
    let now = Timestamp::from_micros(1_000_000_000);
    let segment = if crowd > 0 { 1 << 20 } else { 2000 };
    let empty = journal(directory.path(), segment, Position::default(), |_, _| {});
    let empty = WithEvicted { journal: empty, images: Images::new() };
    let frontier = Frontier::with_journal(&options(rules), empty).unwrap();
    let mut world =
        Puppet { frontier, leases: Vec::new(), now, saved: None, output: Vec::new(), seen_seeds: BTreeSet::new() };
    for number in 0..crowd {
        let (host, at) = (number % 6, world.now + Duration::from_secs(number));
        world.frontier.schedule(&format!("https://h{host}.example/crowd/{number}"), at).unwrap();
    }
    for (number, act) in acts.iter().enumerate() {
        world.act(act);
        if crowd > 0 && number % 8 == 7 {
            world.save();
        }
    }
    let Puppet { mut frontier, leases, now, saved, output, seen_seeds } = world;
    // As a job does.
    let dropped = frontier.gate().dropped();
    frontier.flush(now).unwrap();
    let was = bytes(frontier.state(), &frontier.journal().images);
    let all = Checkpoint::default();
    let (_kept, replayed, _) = resume(directory.path(), &all, &output, (rules, &dropped), segment);
    let mut replayed = replayed;
    prop_assert!(bytes(replayed.state(), &all.images) == was, "from all records");
    let (live, again) = (roots(frontier.state()), roots(replayed.state()));
    prop_assert!(again.is_subset(&live), "{:?}, {:?}", live, again);
    prop_assert!(live.difference(&again).all(|root| seen_seeds.contains(root)), "{:?}, {:?}", live, again);
    // A seed that a counting filter mistakes for seen has no record: only the live crawl knows its host.
    let knows_seeds = layout != Layout::Counting;
    prop_assert_eq!(cells(frontier.gate().seen()), cells(replayed.state().gate().seen()), "{:?}", layout);
    let same_contents = |live: &Gate, again: &Gate| !knows_seeds || cells(live.contents()) == cells(again.contents());
    prop_assert!(same_contents(frontier.gate(), replayed.state().gate()), "contents of {:?}", layout);

    let checkpoint = saved.filter(|saved| with_checkpoint && saved.is_whole).unwrap_or_default();
    let (_kept, mut resumed, journal) = resume(directory.path(), &checkpoint, &output, (rules, &dropped), segment);
    prop_assert_eq!(resumed.output(), output.len() as u64);
    prop_assert!(bytes(resumed.state(), &checkpoint.images) == was, "from a checkpoint");
    let journal = WithEvicted { journal, images: checkpoint.images };
    let mut again = resumed.finish(journal, now).unwrap();

    // Outstanding leases are queued again, and those with a token are still out.
    let out = leases.iter().filter(|lease| lease.token().is_some()).count() as u64;
    prop_assert_eq!((frontier.statistics().leased, again.statistics().leased), (leases.len() as u64, out));
    for lease in leases {
        if let Some(token) = lease.token() {
            let there = again.redeem(token).unwrap();
            prop_assert_eq!(
                (there.url(), there.kind(), there.identity(), there.metadata(), there.queue(), there.origin()),
                (lease.url(), lease.kind(), lease.identity(), lease.metadata(), lease.queue(), lease.origin())
            );
            prop_assert_eq!((there.attempt(), there.for_other()), (lease.attempt(), lease.for_other()));
            // A page that was to be given up is one to be asked for, if its host was forgiven meanwhile.
            let is_forgiven = lease.trouble().is_some() && acts.iter().any(|act| matches!(act, Act::AskAgain));
            prop_assert!(is_forgiven || there.trouble().is_some() == lease.trouble().is_some());
            again.give_back_token(token, now).unwrap();
        }
        frontier.complete(lease, Outcome::Released, now).unwrap();
    }
    have_places(rules, [&mut frontier, &mut again])?;
    let (was, is) = (frontier.statistics(), again.statistics());
    prop_assert_eq!((was.completed, was.retries, was.retired_hosts), (is.completed, is.retries, is.retired_hosts));
    prop_assert_eq!((was.hosts, was.scheduled, was.unreachable), (is.hosts, is.scheduled, is.unreachable));
    prop_assert_eq!(frontier.hosts_by_requests(), again.hosts_by_requests());
    for n in 0..6 {
        for page in 0..=255 {
            let url = frontier.gate().canonicalizer().canonicalize(&url(n, page)).unwrap();
            let fingerprint = url.fingerprint(FingerprintKey::from_u64(7));
            let [was, is] = [&frontier, &again].map(|frontier| frontier.gate().seen().contains(fingerprint));
            prop_assert_eq!(was, is, "{}", url.key());
        }
    }
    for identity in IDENTITIES.concat() {
        let fingerprint = Identity::new(identity).unwrap().fingerprint(FingerprintKey::from_u64(7));
        let [was, is] = [&frontier, &again].map(|frontier| frontier.gate().seen().contains(fingerprint));
        prop_assert_eq!(was, is, "{:?}", identity);
    }
    prop_assert_eq!(cells(frontier.gate().seen()), cells(again.gate().seen()), "{:?}", layout);
    prop_assert!(same_contents(frontier.gate(), again.gate()), "contents of {:?}", layout);
    let later = now + Duration::from_secs(20_000);
    let (was, is) = (drain(&mut frontier, later), drain(&mut again, later));
    prop_assert_eq!(was.pages(), is.pages());
    if patience.is_zero() {
        // A kill has moved the clocks of hosts, which decide whose turn comes first. So a page that one frontier gives up may be asked for
        // by the other, or dropped because of robots.txt or a budget that other pages have spent.
        return Ok(());
    }
    if crowd > 0 && acts.iter().any(|act| matches!(act, Act::Reprioritize { .. })) {
        // What is scheduled is queued as it falls due, between one lease and the next. With other priorities than those that are queued, its
        // place then depends on the moved clocks.
        return Ok(());
    }
    if rules.queues_obey {
        // The moved clocks decide whether a queue or a host asks for a robots.txt again, and so what is disallowed by then.
        return Ok(());
    }
    if rules.grouped && rules.has_budgets {
        // The moved clocks decide which host of the group gets the last of the group's pages. One host is in no group.
        let alone = |drained: &Drained| drained.asked.get("https://h4.example").cloned();
        prop_assert_eq!(alone(&was), alone(&is));
        return Ok(());
    }
    prop_assert_eq!(was, is);
    let counted = |frontier: &OnDisk| (frontier.gate().admitted(), frontier.statistics().completed);
    prop_assert_eq!(counted(&frontier), counted(&again));
    Ok(())
}

/// The places of what waits are in the table, if there is one, and no others.
fn have_places(rules: Rules, frontiers: [&mut OnDisk; 2]) -> Result<(), TestCaseError> {
    for frontier in frontiers {
        let [table, queues] = frontier.all_places();
        prop_assert_eq!(table, if rules.move_up { queues } else { BTreeSet::new() });
    }
    Ok(())
}

/// Restores the frontier from a checkpoint and the records after it, in a directory of its own.
fn resume(
    directory: &Path,
    checkpoint: &Checkpoint,
    output: &[u8],
    (rules, dropped): (Rules, &[DropRule]),
    segment: u64,
) -> (tempfile::TempDir, Resume, FileJournal) {
    let copy = tempfile::tempdir().unwrap();
    for file in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    let seen = (!checkpoint.seen.is_empty()).then(|| SeenSet::load(&*checkpoint.seen, None).unwrap());
    let mut options = options(rules);
    options.scope.dropped = dropped.to_vec();
    let mut resume = Resume::new(&options, seen).unwrap();
    resume.load_seen_at(if rules.layout.forgets() { checkpoint.seen_at.clone() } else { Vec::new() });
    for (chunk, position) in &checkpoint.chunks {
        resume.load(chunk, *position).unwrap();
    }
    checkpoint.images.values().for_each(|image| resume.load_evicted(image).unwrap());
    if !checkpoint.contents.is_empty() {
        resume.load_contents(SeenSet::load(&*checkpoint.contents, None).unwrap());
    }
    resume.load_counts(&checkpoint.counts).unwrap();
    let journal = journal(copy.path(), segment, checkpoint.from, |position, record| {
        let has = |receipts: Receipts<'_>| receipts.iter().all(|(_, receipt)| receipt.end <= output.len() as u64);
        let evicted = |key: &str| Ok(checkpoint.images.get(key).cloned());
        resume.record(position, &record, has, evicted).unwrap();
    });
    (copy, resume, journal)
}

/// A crash took A's record, so the reopened frontier queued A first. Then it dropped A, and only A, since robots.txt disallows it by
/// now.
#[test]
fn a_page_whose_record_is_lost_stands_where_it_was_queued_again() {
    let [a, c] = [32, 64].map(Position::from_u64);
    let key = "https://h0.example";
    let status = HostStatus { has_answered: true, ..HostStatus::default() };
    let receipts = ReceiptsBuf::of(&[("pages", Receipt::of(&[0; 10], 0))]);
    let receipts = receipts.list();
    let records = [
        Record::Admitted(Entry::seed("https://h0.example/a")),
        Record::Admitted(Entry::seed("https://h0.example/c")),
        Record::Settled(Settled {
            host: key,
            status,
            position: a,
            priority: 0,
            attempts: 1,
            done: true,
            receipts,
            yielded: None,
            cost: HostCost::default(),
            is_overdue: false,
        }),
        Record::Resumed { output: 0 },
        Record::Disallowed(DisallowedRecord { host: key, priority: 0, first: a, urls: 1, refusal: Refusal::Robots }),
    ];
    let mut resume = Resume::new(&options(Rules::of(Layout::Exact)), None).unwrap();
    for (at, record) in (1..).map(|number| Position::from_u64(32 * number)).zip(&records) {
        resume.record(at, record, |_| false, |_| Ok(None)).unwrap();
    }
    let state = resume.state();
    let queue = &state.hosts().iter().next().unwrap().queue;
    let waiting: Vec<_> = state.back().levels(queue).flat_map(|level| state.back().positions(level)).collect();
    assert_eq!(waiting, [c]);
}
