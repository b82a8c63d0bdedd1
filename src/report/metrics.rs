//! The numbers of a report as metrics, in the text format of `OpenMetrics`: each metric has its name and its docs from `report.json`.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use serde_json::Value;

use super::format::Report;
use super::schema::{Number, NumberKind, numbers};

/// The numbers of a single shard that are metrics: they show which shard is bad.
const OF_SHARDS: [&str; 2] = ["seen.shards[].expected_lost", "seen.shards[].fill_ratio"];
/// At most this many shards have series of their own.
const MOST_SHARDS: usize = 256;

/// The label for the keys of a map, by the map's name.
const LABELS: [(&str, &str); 7] = [
    ("by_depth", "depth"),
    ("by_type", "type"),
    ("content_types", "type"),
    ("errors", "error"),
    ("refused", "refusal"),
    ("statuses", "status"),
    ("unreachable", "error"),
];
/// The quantiles of times, and their keys.
const QUANTILES: [(&str, &str); 4] = [(".p50_us", "0.5"), (".p90_us", "0.9"), (".p99_us", "0.99"), (".max_us", "1")];
/// The units of numbers, by the ends of their keys, and the factor to the metric's unit.
const UNITS: [(&str, Unit, f64); 2] = [("_us", Unit::Seconds, 1e-6), ("_bytes", Unit::Bytes, 1.0)];

/// The numbers of a report as `OpenMetrics`.
pub(crate) fn metrics(report: &Report) -> String {
    let report = serde_json::to_value(report).expect("a report has keys that are texts");
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Figures(report)));
    let mut metrics = String::new();
    text::encode(&mut metrics, &registry).expect("a text takes all");
    metrics
}

#[derive(Debug)]
struct Figures(Value);

type Label = (&'static str, String);

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // Numbers that differ only in their quantile are one metric.
        let mut metrics: BTreeMap<String, Vec<Metric>> = BTreeMap::new();
        for metric in numbers().into_iter().filter_map(Metric::of) {
            metrics.entry(metric.name.clone()).or_default().push(metric);
        }
        for (name, parts) in &metrics {
            let Metric { says, unit, is_gauge, .. } = &parts[0];
            let kind = if *is_gauge { MetricType::Gauge } else { MetricType::Counter };
            let mut samples: Vec<(Vec<Label>, f64)> = Vec::new();
            for part in parts {
                let keys: Vec<_> = part.number.split('.').collect();
                let quantile = part.quantile.iter().map(|share| ("quantile", (*share).to_owned()));
                each(&self.0, &keys, &mut quantile.collect(), &mut |labels, value| {
                    samples.push((labels.to_vec(), value * part.scale));
                });
            }
            if samples.is_empty() {
                continue;
            }
            let mut family = encoder.encode_descriptor(name, says, unit.as_ref(), kind)?;
            for (labels, value) in samples {
                let labels = &labels[..];
                let mut sample = family.encode_family(&labels)?;
                if *is_gauge {
                    sample.encode_gauge(&value)?;
                } else {
                    sample.encode_counter::<[Label; 0], _, f64>(&value, None)?;
                }
            }
        }
        Ok(())
    }
}

/// How a number becomes a metric.
#[derive(Clone, Debug)]
struct Metric {
    /// The number's name.
    number: String,
    /// The metric's name, without its unit.
    name: String,
    says: String,
    is_gauge: bool,
    unit: Option<Unit>,
    /// The factor from the number's unit to the metric's.
    scale: f64,
    quantile: Option<&'static str>,
}

impl Metric {
    /// `None` for a number that is not a metric. The shards are the only list with metrics.
    fn of(Number { name: number, says, kind }: Number) -> Option<Self> {
        let is_of_shard = OF_SHARDS.contains(&&*number);
        if kind == NumberKind::None || number.contains("[]") && !is_of_shard {
            return None;
        }
        let plain = number.replace("seen.merged.", "seen.").replace(".*", "").replace("[]", "").replace('.', "_");
        let mut name = format!("crawler_{plain}");
        let quantile = QUANTILES.iter().find(|(end, _)| number.ends_with(end));
        if let Some((end, _)) = quantile {
            name.replace_range(name.len() - end.len().., "_us");
        }
        let unit = UNITS.iter().find(|(end, ..)| name.ends_with(end));
        if let Some((end, ..)) = unit {
            name.truncate(name.len() - end.len());
        }
        let is_gauge = quantile.is_some() || kind == NumberKind::Gauge;
        Some(Self {
            name,
            says,
            is_gauge,
            unit: unit.map(|(_, unit, _)| unit.clone()),
            scale: unit.map_or(1.0, |(.., scale)| *scale),
            quantile: quantile.map(|(_, share)| *share),
            number,
        })
    }
}

/// Calls `call` with each number under these keys, and with a label for each key of a map and each index of a list.
fn each(value: &Value, keys: &[&str], labels: &mut Vec<Label>, call: &mut impl FnMut(&[Label], f64)) {
    let Some((key, rest)) = keys.split_first() else {
        return value.as_f64().map_or((), |number| call(labels, number));
    };
    let label = |key: &str| LABELS.iter().find(|(map, _)| *map == key).map_or("name", |(_, label)| *label);
    let mut parts: Vec<(Label, &Value)> = Vec::new();
    let (rest, inner) = match (key.strip_suffix("[]"), rest.split_first()) {
        (Some(list), _) => {
            let list = value[list].as_array().into_iter().flatten().take(MOST_SHARDS);
            parts.extend(list.enumerate().map(|(index, one)| (("shard", index.to_string()), one)));
            (rest, &Value::Null)
        }
        (None, Some((&"*", rest))) => {
            let map = value[key].as_object().into_iter().flatten();
            parts.extend(map.map(|(name, one)| ((label(key), name.clone()), one)));
            (rest, &Value::Null)
        }
        (None, _) => (rest, &value[key]),
    };
    for (label, one) in parts {
        labels.push(label);
        each(one, rest, labels, call);
        labels.pop();
    }
    if !inner.is_null() {
        each(inner, rest, labels, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_a_metric_once_with_a_value_of_its_unit() {
        let report = include_str!("../../tests/golden/report.json");
        let text = metrics(&serde_json::from_str(report).unwrap());
        let lines: Vec<&str> = text.lines().collect();
        for line in [
            "crawler_urls_found_total{} 49847.0",
            "crawler_urls_queued{} 122.0",
            "crawler_urls_refused_total{refusal=\"out_of_scope\"} 7650.0",
            "crawler_pages_statuses_total{status=\"404\"} 150.0",
            "crawler_pages_first_byte_seconds{quantile=\"0.5\"} 0.023455",
            "crawler_elapsed_seconds_total{} 134.2",
            "crawler_pages_wire_bytes_total{} 131072000.0",
            "crawler_seen_inserted_total{} 12102.0",
            "crawler_seen_audit_lost_high{} 4657.7",
            "crawler_seen_shards_fill_ratio{shard=\"3\"} 0.004133428473848556",
            "# UNIT crawler_cost_peak_memory_bytes bytes",
            "# TYPE crawler_politeness_violations counter",
            "# TYPE crawler_seen_audit_lost gauge",
            "# TYPE crawler_seen_lock_waits counter",
            "# TYPE crawler_hosts_known gauge",
            "# TYPE crawler_urls_unreachable gauge",
            "# EOF",
        ] {
            assert!(lines.contains(&line), "{line}\n{text}");
        }
        let mut samples: Vec<_> = lines.iter().filter_map(|line| line.rsplit_once(' ')).map(|(name, _)| name).collect();
        samples.retain(|name| !name.starts_with('#'));
        let all = samples.len();
        samples.sort_unstable();
        samples.dedup();
        assert_eq!(samples.len(), all, "no series is there twice");
        for name in samples {
            assert!(!name.contains("_us") && !name.contains("_total_total"), "{name}");
        }
    }
}
