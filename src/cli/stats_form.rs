//! How a report is printed.

use super::parts;
use crate::report::ReportPart;

/// How a report is printed.
#[derive(Clone, Debug)]
pub(super) enum StatsForm {
    Json,
    /// In the text format of `OpenMetrics`.
    Metrics,
    /// As text: these parts in full, or the page for a terminal.
    Text(Vec<ReportPart>),
}

impl StatsForm {
    /// The form that the given flags ask for.
    pub(super) fn given(is_given: impl Fn(&'static str) -> bool) -> Self {
        match () {
            () if is_given("json") => Self::Json,
            () if is_given("metrics") => Self::Metrics,
            () => Self::Text(parts::given(is_given)),
        }
    }
}
