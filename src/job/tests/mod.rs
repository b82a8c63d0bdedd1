//! Tests of the job that need its insides.

mod live_equals_replay;
