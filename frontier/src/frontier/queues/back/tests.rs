//! The back queues checked against a model of plain lists.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::frontier::durable::MovesBuf;

#[derive(Clone, Debug)]
enum Action {
    Push {
        priority: u8,
        position: u64,
        is_front: bool,
    },
    Remove {
        priority: u8,
        place: usize,
        urls: u32,
    },
    Replace {
        priority: u8,
        place: usize,
        position: u64,
    },
    Try {
        priority: u8,
        place: usize,
        tries: u8,
    },
    Miss {
        priority: u8,
        position: u64,
    },
    /// Each of these goes to a priority, after this many, or after all.
    Move {
        urls: Vec<(u8, usize, u8)>,
        after: Option<u16>,
    },
}

fn actions() -> impl Strategy<Value = Vec<(usize, Action)>> {
    let position = || prop_oneof![0..300u64, 0..1u64 << 40, any::<u64>()];
    let place = || prop_oneof![4 => Just(0), 2 => 0..10usize, 1 => 0..400usize];
    let action = prop_oneof![
        9 => (0..4u8, position(), prop::bool::weighted(0.1))
            .prop_map(|(priority, position, is_front)| Action::Push { priority, position, is_front }),
        6 => (0..4u8, place(), prop_oneof![4 => Just(1), 1 => 1..9u32])
            .prop_map(|(priority, place, urls)| Action::Remove { priority, place, urls }),
        2 => (0..4u8, place(), position())
            .prop_map(|(priority, place, position)| Action::Replace { priority, place, position }),
        2 => (0..4u8, place(), 0..3u8).prop_map(|(priority, place, tries)| Action::Try { priority, place, tries }),
        1 => (0..4u8, position()).prop_map(|(priority, position)| Action::Miss { priority, position }),
        2 => (prop::collection::vec((0..4u8, 0..60usize, 0..5u8), 0..30), prop::option::of(0..4u16))
            .prop_map(|(urls, after)| Action::Move { urls, after }),
    ];
    proptest::collection::vec((0..3usize, action), 0..600)
}

/// A host's URLs with their tries, by priority.
type Lists = BTreeMap<u8, Vec<(Position, u8)>>;

fn lists(back: &Back, queue: &Queue) -> Lists {
    let list = |level| back.positions(level).map(|position| (position, back.tries(position))).collect();
    back.levels(queue).map(|level| (level.priority, list(level))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_agrees_with_lists(actions in actions()) {
        let mut back = Back::default();
        let mut queues: [Queue; 3] = Default::default();
        let mut model: [Lists; 3] = Default::default();
        let mut used = BTreeSet::new();
        for (host, action) in actions {
            let (queue, lists_of) = (&mut queues[host], &mut model[host]);
            match action {
                Action::Push { priority, position, is_front } if used.insert(position) => {
                    let queued = Queued { position: Position::from_u64(position), priority };
                    let list = lists_of.entry(priority).or_default();
                    if is_front { back.push_front(queue, queued) } else { back.push(queue, queued) }
                    list.insert(if is_front { 0 } else { list.len() }, (queued.position, 0));
                }
                Action::Replace { priority, place, position } if used.insert(position) => {
                    let queued = Queued { position: Position::from_u64(position), priority };
                    let list = lists_of.entry(priority).or_default();
                    if let Some(replaced) = list.get_mut(place) {
                        prop_assert!(back.replace(queue, replaced.0, queued));
                        *replaced = (queued.position, 0);
                    } else {
                        let absent = Position::from_u64(if used.contains(&7) { 8 } else { 7 });
                        if !used.contains(&absent.to_u64()) {
                            prop_assert!(!back.replace(queue, absent, queued));
                            list.insert(0, (queued.position, 0));
                        }
                    }
                }
                Action::Push { .. } | Action::Replace { .. } => {}
                Action::Remove { priority, place, urls } => {
                    let list = lists_of.entry(priority).or_default();
                    let Some(&(position, _)) = list.get(place) else { continue };
                    let queued = Queued { position, priority };
                    prop_assert_eq!(back.holds(queue, queued), place < REACH);
                    let end = list.len().min(place + urls as usize);
                    if urls == 1 {
                        prop_assert!(back.remove(queue, queued));
                    } else {
                        prop_assert_eq!(back.remove_run(queue, queued, urls) as usize, end - place);
                    }
                    list.drain(place..end);
                }
                Action::Try { priority, place, tries } => {
                    let list = lists_of.entry(priority).or_default();
                    if let Some(tried) = list.get_mut(place) {
                        back.set_tries(tried.0, tries);
                        tried.1 = tries;
                    }
                }
                Action::Move { urls, after } => {
                    let to: BTreeMap<(u8, usize), u8> =
                        urls.into_iter().map(|(priority, place, to)| ((priority, place), to)).collect();
                    let mut moves = MovesBuf::default();
                    let places: Vec<_> = after.map(|after| (0..5).map(|front| (front, after)).collect()).unwrap_or_default();
                    moves.begin();
                    let mut moved = Vec::new();
                    for (priority, list) in &mut *lists_of {
                        moves.level(*priority);
                        let mut place = 0;
                        list.retain(|(position, tries)| {
                            let to = to.get(&(*priority, place)).filter(|to| *to != priority && *tries == 0);
                            place += 1;
                            if let Some(to) = to {
                                moves.url(*position, *to);
                                moved.push((*to, *position));
                            }
                            to.is_none()
                        });
                    }
                    moves.places(&places);
                    prop_assert_eq!(back.move_urls(queue, moves.list()), moved.len());
                    let before: BTreeMap<u8, usize> = lists_of.iter().map(|(front, list)| (*front, list.len())).collect();
                    for (to, position) in moved {
                        let list = lists_of.entry(to).or_default();
                        let kept = before.get(&to).copied().unwrap_or_default();
                        list.insert(after.map_or(list.len(), |after| kept.min(after.into())), (position, 0));
                    }
                }
                Action::Miss { priority, position } => {
                    let queued = Queued { position: Position::from_u64(position), priority };
                    if !lists_of.get(&priority).is_some_and(|list| list.iter().any(|(at, _)| *at == queued.position)) {
                        prop_assert!(!back.holds(queue, queued) && !back.remove(queue, queued));
                    }
                }
            }
            lists_of.retain(|_, list| !list.is_empty());
            prop_assert_eq!(&lists(&back, queue), &*lists_of);
            prop_assert_eq!(queue.len() as usize, lists_of.values().map(Vec::len).sum::<usize>());
            let first = |(priority, list): (&u8, &Vec<_>)| Queued { position: (list[0] as (Position, u8)).0, priority: *priority };
            prop_assert_eq!(queue.first(), lists_of.iter().next().map(first));
            let flat: Vec<_> = lists_of.iter().flat_map(|(priority, list)| {
                list.iter().map(|(position, _)| Queued { position: *position, priority: *priority })
            }).collect();
            for out in [0, 1, 2, 5] {
                let out: Vec<_> = flat.iter().take(out).map(|queued| queued.position).collect();
                prop_assert_eq!(back.first_but(queue, &out), flat.get(out.len()).copied());
            }
        }
        for (queue, lists) in queues.iter_mut().zip(&model) {
            for (priority, list) in lists {
                for &(position, _) in list {
                    let queued = Queued { position, priority: *priority };
                    prop_assert!(back.remove(queue, queued));
                }
            }
            prop_assert_eq!(queue.len(), 0);
        }
        prop_assert!(back.tried.is_empty(), "tries go with their URLs");
    }
}

#[test]
fn what_is_freed_is_used_again() {
    let mut back = Back::default();
    let mut queue = Queue::default();
    let mut after_first_round = 0;
    for round in 0..5 {
        for position in 0..100_000u64 {
            let position = Position::from_u64(position * 500);
            back.push(&mut queue, Queued { position, priority: (position.to_u64() % 3) as u8 });
        }
        if round == 0 {
            after_first_round = back.memory();
        }
        while back.pop(&mut queue).is_some() {}
    }
    assert_eq!(back.memory(), after_first_round);
    assert_eq!(
        after_first_round,
        3 * 4096 * 32,
        "two bytes a step and a chunk's link: two segments, and one of levels"
    );
}
