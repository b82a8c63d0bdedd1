//! The requested parts of a report, and its text.

use std::path::Path;

use crate::report::{Report, ReportPart};

/// The flags that show parts of the report in full: name, help, and the parts.
pub(super) static FLAGS: [(&str, &str, &[ReportPart]); 5] = [
    ("all", "All parts in full", &ReportPart::ALL),
    (
        "errors",
        "What was lost, responses by status and type, what failed",
        &[ReportPart::Losses, ReportPart::Responses],
    ),
    ("filter", "The seen filter, and its shards", &[ReportPart::Filter]),
    ("hosts", "The hosts that were asked most", &[ReportPart::Hosts]),
    ("latency", "How long requests took", &[ReportPart::Latency]),
];

/// The parts whose flags were given.
pub(super) fn given(is_given: impl Fn(&'static str) -> bool) -> Vec<ReportPart> {
    let asked = FLAGS.iter().filter(|(name, _, _)| is_given(name));
    let asked: Vec<ReportPart> = asked.flat_map(|(_, _, parts)| *parts).copied().collect();
    ReportPart::ALL.into_iter().filter(|part| asked.contains(part)).collect()
}

/// A report as text: the page for a terminal, or these parts in full; each ends with the verdict. For the report of one
/// job, the page says where the rest is.
pub(super) fn text(report: &Report, directory: Option<&Path>, parts: &[ReportPart]) -> String {
    match parts.len() {
        0 => match directory.map(|directory| directory.join("report.html")) {
            Some(page) => format!("{report}Everything: {}\n", page.display()),
            None => report.to_string(),
        },
        all if all == ReportPart::ALL.len() => format!("{}\n{}", report.in_full(parts), report.verdict()),
        _ => report.in_full(parts),
    }
}
