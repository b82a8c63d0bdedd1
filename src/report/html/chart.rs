//! Lines over time, as SVG.

use std::fmt::Write;
use std::time::Duration;

use crate::report::figures::duration;

/// A line: its name, and its values by seconds since the crawl began, earliest first.
#[derive(Debug)]
pub(super) struct ChartLine {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 230.0;
/// Space for the numbers on the left, and for the times below.
const LEFT: f64 = 64.0;
const BELOW: f64 = 26.0;
const AROUND: f64 = 10.0;
/// Lines of the grid, approximately.
const STEPS: f64 = 4.0;

/// The chart of some lines; empty if no line has two points. `written` formats a value for the grid.
pub(super) fn chart(title: &str, lines: &[ChartLine], written: fn(f64) -> String) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let last = points().fold(0.0, |last: f64, &(at, _)| last.max(at));
    if last <= 0.0 || lines.iter().all(|line| line.points.len() < 2) {
        return String::new();
    }
    let step = step(points().fold(0.0, |top: f64, &(_, value)| top.max(value)));
    let top = points().fold(step, |top, &(_, value)| top.max((value / step).ceil() * step));
    let x = |at: f64| LEFT + at / last * (WIDTH - LEFT - AROUND);
    let y = |value: f64| HEIGHT - BELOW - value / top * (HEIGHT - BELOW - AROUND);

    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">");
    let mut value = 0.0;
    while value <= top * 1.0001 {
        let (at, text) = (y(value), written(value));
        // Writing to a `String` cannot fail.
        let _ =
            write!(svg, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>", WIDTH - AROUND);
        let _ = write!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", LEFT - 6.0, at + 4.0);
        value += step;
    }
    for (share, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
        let time = duration(Duration::from_secs_f64((last * share).max(0.0)));
        let text = if share == 0.0 { "0" } else { &*time };
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{text}</text>",
            x(last * share),
            HEIGHT - 8.0
        );
    }
    for (number, line) in lines.iter().enumerate() {
        let at = line.points.iter().map(|&(at, value)| format!("{:.1},{:.1}", x(at), y(value.max(0.0))));
        let at = at.collect::<Vec<_>>().join(" ");
        let _ = write!(svg, "<polyline class=\"line{number}\" points=\"{at}\"><title>{}</title></polyline>", line.name);
    }
    svg + "</svg>"
}

/// The distance between the grid's lines: 1, 2 or 5 times a power of ten, so that there are about [`STEPS`] up to the top.
fn step(top: f64) -> f64 {
    let raw = (top / STEPS).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(raw.log10().floor());
    let times = [1.0, 2.0, 5.0].into_iter().find(|times| times * power >= raw * 0.999).unwrap_or(10.0);
    if top > 0.0 { times * power } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> ChartLine {
        ChartLine { name: "found", points: points.to_vec() }
    }

    #[test]
    fn the_grid_is_at_round_numbers() {
        let steps = [0.0, 1.0, 4.0, 7.0, 99.0, 1_234.0, 3.3e-9].map(step);
        assert_eq!(steps[..6], [1.0, 0.5, 1.0, 2.0, 50.0, 500.0]);
        assert!((steps[6] - 1e-9).abs() < 1e-15, "{}", steps[6]);
    }

    #[test]
    fn a_line_goes_from_the_left_to_the_right_and_up() {
        let svg = chart("Discovery", &[line(&[(0.0, 0.0), (5.0, 50.0), (10.0, 100.0)])], |value| format!("{value}"));
        assert!(svg.contains("points=\"64.0,204.0 347.0,107.0 630.0,10.0\""), "{svg}");
        assert!(svg.contains(">100</text>") && svg.contains(">10.0 s</text>"), "{svg}");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
    }

    #[test]
    fn what_cannot_be_drawn_is_not() {
        for points in [&[][..], &[(0.0, 1.0)], &[(0.0, 1.0), (0.0, 2.0)]] {
            assert_eq!(chart("x", &[line(points)], |_| String::new()), "");
        }
        let flat = chart("x", &[line(&[(0.0, 0.0), (1.0, 0.0)])], |value| format!("{value}"));
        assert!(flat.contains("204.0") && !flat.contains("NaN"), "{flat}");
    }
}
