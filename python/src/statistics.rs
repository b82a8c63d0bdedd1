//! The seen set in numbers, as dictionaries with the names that `crawler seen info --json` has.

use crawler_frontier::driver::PlanRow;
use crawler_frontier::seen::{SeenStatistics, ShardStatistics};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A dictionary of fields by their names.
macro_rules! fields {
    ($py:expr, $from:expr; $($field:ident),+ $(,)?) => {{
        let fields = PyDict::new($py);
        $(fields.set_item(stringify!($field), &$from.$field)?;)+
        fields
    }};
}

/// All numbers of a set, as a whole and for each shard.
pub(crate) fn all<'py>(py: Python<'py>, statistics: &SeenStatistics) -> PyResult<Bound<'py, PyDict>> {
    let shards = statistics.shards.iter().map(|row| shard(py, row)).collect::<PyResult<Vec<_>>>()?;
    let fields = PyDict::new(py);
    fields.set_item("merged", shard(py, &statistics.merged)?)?;
    fields.set_item("shards", PyList::new(py, shards)?)?;
    fields.set_item("recent_hits", statistics.recent_hits)?;
    Ok(fields)
}

fn shard<'py>(py: Python<'py>, row: &ShardStatistics) -> PyResult<Bound<'py, PyDict>> {
    let fields = fields!(py, row;
        capacity, inserted, tests, removed, lock_waits, batches, batched, layers, full, bits, bits_set, probes, bytes,
        bytes_bookkeeping, fill_ratio, cardinality, false_positive_rate_target, false_positive_rate_estimated,
        false_positive_rate_mean, expected_lost,
    );
    let audit = row.audit.as_ref().map(|audit| {
        Ok::<_, PyErr>(fields!(py, audit;
            sample, shown, false_positives, distinct, rate, rate_low, rate_high, lost, lost_variance, lost_low, lost_high,
        ))
    });
    fields.set_item("audit", audit.transpose()?)?;
    let verified = row.verified.as_ref().map(|verified| {
        Ok::<_, PyErr>(fields!(py, verified;
            lookups, from_memory, rescued, pages_read, runs, disk_bytes, bytes_written, failures,
        ))
    });
    fields.set_item("verified", verified.transpose()?)?;
    let generations = row.generations.iter().map(|row| Ok(fields!(py, row; identity_bits, urls, covers)));
    fields.set_item("generations", PyList::new(py, generations.collect::<PyResult<Vec<_>>>()?)?)?;
    Ok(fields)
}

/// What each layout, and each alternative, would cost.
pub(crate) fn plan<'py>(py: Python<'py>, rows: &[PlanRow]) -> PyResult<Bound<'py, PyList>> {
    let rows = rows
        .iter()
        .map(|row| Ok(fields!(py, row; name, is_layout, bytes, bits_per_url, probes, rate, mean_rate, expected_lost)));
    PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
}
