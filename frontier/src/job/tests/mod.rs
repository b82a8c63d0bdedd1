//! Tests of the job that need its internals.

mod live_equals_replay;
