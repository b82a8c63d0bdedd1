//! The declaration of a group of counters ([`counters!`]), and what a counter can do ([`Counter`]).

use std::collections::BTreeMap;

/// A counter, or a group of them: it can be added to another of its kind, of another run, another partition or another report.
pub trait Counter {
    /// Adds the counts of another.
    fn merge_with(&mut self, other: &Self);

    /// The number, if it is a single one.
    fn number(&self) -> Option<u64> {
        None
    }
}

impl Counter for u64 {
    /// Counts from a file may be anything, so they saturate.
    fn merge_with(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }

    fn number(&self) -> Option<u64> {
        Some(*self)
    }
}

impl Counter for f64 {
    fn merge_with(&mut self, other: &Self) {
        *self += other;
    }
}

impl<T: Counter + Clone> Counter for Option<T> {
    fn merge_with(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Some(ours), Some(other)) => ours.merge_with(other),
            (None, Some(_)) => self.clone_from(other),
            (_, None) => {}
        }
    }
}

impl<K: Ord + Clone, V: Counter + Default> Counter for BTreeMap<K, V> {
    fn merge_with(&mut self, other: &Self) {
        for (name, count) in other {
            match self.get_mut(name) {
                Some(ours) => ours.merge_with(count),
                None => self.entry(name.clone()).or_default().merge_with(count),
            }
        }
    }
}

/// A rule of [`counters!`]: of two numbers, the greater one.
pub(crate) fn greatest<T: Copy + PartialOrd>(ours: &mut T, other: &T) {
    if other > ours {
        *ours = *other;
    }
}

/// Declares structs of counters.
///
/// A field is all that a counter needs, besides the place where it is counted: it is passed on to the next run, merged over partitions and
/// reports, and written to `report.json`. Its doc comment explains it in the schema, from which the metrics and `crawler numbers` are made.
/// A whole number that can fall says so there: `schemars(extend("x-metric" = "gauge"))`.
///
/// Two fields are merged as their type says ([`Counter::merge_with`]), or by the rule after `=>`: a function of `&mut T` and `&T`. A counter
/// that a file does not have is zero.
macro_rules! counters {
    (@merge $ours:expr, $theirs:expr) => { $crate::crawl::Counter::merge_with($ours, $theirs) };
    (@merge $ours:expr, $theirs:expr, $rule:path) => { $rule($ours, $theirs) };
    (@number $of:expr) => { $crate::crawl::Counter::number($of) };
    (@number $of:expr, $rule:path) => { None };
    ($(
        $(#[$attribute:meta])*
        $seen:vis struct $name:ident {
            $( $(#[$of_field:meta])* $field_seen:vis $field:ident: $type:ty $(=> $rule:path)?, )*
        }
    )*) => {$(
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
        #[serde(default)]
        $(#[$attribute])*
        $seen struct $name {
            $( $(#[$of_field])* $field_seen $field: $type, )*
        }

        impl $name {
            /// The single numbers that are added up, with their names.
            pub fn numbers(&self) -> impl Iterator<Item = (&'static str, u64)> {
                let all: [(&'static str, Option<u64>); _] =
                    [$( (stringify!($field), $crate::crawl::counters!(@number &self.$field $(, $rule)?)) ),*];
                all.into_iter().filter_map(|(name, number)| Some((name, number?)))
            }
        }

        impl $crate::crawl::Counter for $name {
            fn merge_with(&mut self, other: &Self) {
                $( $crate::crawl::counters!(@merge &mut self.$field, &other.$field $(, $rule)?); )*
            }
        }
    )*};
}

pub(crate) use counters;
