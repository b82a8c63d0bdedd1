//! The comparison as a picture: SVG, alone or in a page.

use std::fmt::Write as _;

use super::comparison::Comparison;
use crate::report::figures::{thousands, whole};

const WIDTH: f64 = 1040.0;
const HEIGHT: f64 = 520.0;
/// The inner size of each panel.
const PANEL: (f64, f64) = (400.0, 340.0);
const TOP: f64 = 60.0;
const LEFTS: [f64; 2] = [80.0, 600.0];
/// Colors that people with any kind of color vision can tell apart (Okabe and Ito 2008).
const COLORS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#f0e442"];

/// An axis across and an axis up, at a place in the picture.
struct Panel {
    left: f64,
    x: Axis,
    y: Axis,
}

impl Panel {
    /// The point in the picture; `None` outside the panel.
    fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.left + self.x.place(x)? * PANEL.0, TOP + (1.0 - self.y.place(y)?) * PANEL.1))
    }

    /// Writes the frame, the grid and the labels.
    fn write_frame(&self, title: &str, x_name: &str, y_name: &str, svg: &mut String) {
        let Self { left, x, y } = self;
        let (right, bottom) = (left + PANEL.0, TOP + PANEL.1);
        let middle = left + PANEL.0 / 2.0;
        put(svg, format_args!("<text x='{middle}' y='{}' class='title'>{}</text>", TOP - 20.0, Escaped(title)));
        put(svg, format_args!("<text x='{middle}' y='{}' class='middle'>{}</text>", bottom + 38.0, Escaped(x_name)));
        let (turned_x, turned_y) = (left - 58.0, TOP + PANEL.1 / 2.0);
        put(
            svg,
            format_args!(
                "<text class='middle' transform='translate({turned_x} {turned_y}) rotate(-90)'>{}</text>",
                Escaped(y_name)
            ),
        );
        for (at, label) in x.ticks() {
            let at = left + at * PANEL.0;
            put(svg, format_args!("<path class='grid' d='M{at:.1} {TOP}V{bottom}'/>"));
            put(svg, format_args!("<text x='{at:.1}' y='{}' class='middle'>{}</text>", bottom + 18.0, Escaped(&label)));
        }
        for (at, label) in y.ticks() {
            let at = TOP + (1.0 - at) * PANEL.1;
            put(svg, format_args!("<path class='grid' d='M{left} {at:.1}H{right}'/>"));
            put(
                svg,
                format_args!("<text x='{}' y='{:.1}' class='end'>{}</text>", left - 8.0, at + 4.0, Escaped(&label)),
            );
        }
        put(svg, format_args!("<path class='frame' d='M{left} {TOP}H{right}V{bottom}H{left}Z'/>"));
    }

    /// Writes a line through the points that are inside the panel.
    fn write_line(&self, points: impl Iterator<Item = (f64, f64)>, color: &str, svg: &mut String) {
        let mut path = String::new();
        for (x, y) in points.filter_map(|(x, y)| self.at(x, y)) {
            let step = if path.is_empty() { 'M' } else { 'L' };
            // Writing to a String does not fail.
            let _ = write!(path, "{step}{x:.1} {y:.1}");
        }
        if !path.is_empty() {
            put(svg, format_args!("<path class='line' stroke='{color}' d='{path}'/>"));
        }
    }

    /// Writes rings that grow with `index`, so that equal values stay visible inside each other.
    fn write_rings(&self, points: impl Iterator<Item = (f64, f64)>, index: usize, svg: &mut String) {
        let (color, radius) = (color(index), 2.5 + 1.3 * index as f64);
        for (x, y) in points.filter_map(|(x, y)| self.at(x, y)) {
            put(svg, format_args!("<circle cx='{x:.1}' cy='{y:.1}' r='{radius:.1}' stroke='{color}'/>"));
        }
    }
}

/// The two panels: how the rate rises with n, and whether the measured rate is the requested one.
pub(super) fn svg(comparison: &Comparison) -> String {
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' height='{HEIGHT}' role='img'>\
         <title>False-positive rates, measured and predicted</title>\
         <style>text{{font:12px sans-serif;fill:#222}}.title{{font-weight:bold;text-anchor:middle}}.middle{{text-anchor:middle}}\
         .end{{text-anchor:end}}.grid{{stroke:#e4e4e4}}.frame{{stroke:#888;fill:none}}.line{{fill:none;stroke-width:1.5}}\
         circle{{fill:none;stroke-width:1.2}}.mark{{stroke:#666;stroke-dasharray:4 4;fill:none}}</style>\
         <rect width='{WIDTH}' height='{HEIGHT}' fill='#fff'/>\n"
    );
    // In batches, a layout gives the same answers as one key at a time.
    let names: Vec<&str> = comparison.filling.curves.iter().map(|curve| &*curve.name).collect();
    write_filling(comparison, &mut svg);
    write_targets(comparison, &names, &mut svg);
    for (index, name) in names.iter().enumerate() {
        let (x, y) = (80.0 + 240.0 * (index % 4) as f64, HEIGHT - 48.0 + 22.0 * (index / 4) as f64);
        let (color, radius) = (color(index), 2.5 + 0.6 * index as f64);
        put(&mut svg, format_args!("<path class='line' stroke='{color}' d='M{x} {y}h26'/>"));
        put(&mut svg, format_args!("<circle cx='{}' cy='{y}' r='{radius:.1}' stroke='{color}'/>", x + 13.0));
        put(&mut svg, format_args!("<text x='{}' y='{}'>{}</text>", x + 34.0, y + 4.0, Escaped(name)));
    }
    svg + "</svg>\n"
}

fn write_filling(comparison: &Comparison, svg: &mut String) {
    let filling = &comparison.filling;
    let most = filling.curves.iter().flat_map(|curve| &curve.points).map(|point| point.shown).max().unwrap_or(1);
    let panel = Panel { left: LEFTS[0], x: Axis::linear(most as f64), y: Axis::log(filling.target / 1000.0, 1.0) };
    let title = format!("Sized for {} URLs at {:e}, and shown more", thousands(filling.capacity), filling.target);
    panel.write_frame(&title, "n: distinct URLs shown", "false-positive rate", svg);
    if let Some((x, y)) = panel.at(filling.capacity as f64, 1.0) {
        put(svg, format_args!("<path class='mark' d='M{x:.1} {y}v{}'/>", PANEL.1));
        put(svg, format_args!("<text x='{:.1}' y='{}'>capacity</text>", x + 4.0, y + PANEL.1 - 6.0));
    }
    for (index, curve) in filling.curves.iter().enumerate() {
        let predicted = curve.points.iter().map(|point| (point.shown as f64, point.rate_predicted));
        panel.write_line(predicted, color(index), svg);
        panel.write_rings(curve.points.iter().map(|point| (point.shown as f64, point.rate)), index, svg);
    }
}

fn write_targets(comparison: &Comparison, names: &[&str], svg: &mut String) {
    let targets = || comparison.rates.iter().map(|at| at.target);
    let (low, high) = (targets().fold(1.0, f64::min) / 10.0, targets().fold(0.0, f64::max) * 10.0);
    let (x, y) = (Axis::log(low, high.min(1.0)), Axis::log(low, high.min(1.0)));
    let panel = Panel { left: LEFTS[1], x, y };
    let title = format!("Filled with {} URLs", thousands(comparison.urls.shown));
    panel.write_frame(&title, "p: the rate asked for", "false-positive rate, measured", svg);
    let (low, high) = panel.x.ends();
    if let (Some(from), Some(to)) = (panel.at(low, low), panel.at(high, high)) {
        put(svg, format_args!("<path class='mark' d='M{:.1} {:.1}L{:.1} {:.1}'/>", from.0, from.1, to.0, to.1));
    }
    for (index, name) in names.iter().enumerate() {
        let points = || {
            comparison.rates.iter().filter_map(|at| {
                let row = at.rows.iter().find(|row| row.name == *name)?;
                Some((at.target, row.measured()?.rate))
            })
        };
        panel.write_line(points(), color(index), svg);
        panel.write_rings(points(), index, svg);
    }
}

fn color(index: usize) -> &'static str {
    COLORS[index % COLORS.len()]
}

/// The picture in a page, above the table.
pub(super) fn html(comparison: &Comparison, table: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>crawler seen compare</title>\
         <style>body{{font-family:sans-serif;margin:2em}}svg{{max-width:100%;height:auto}}</style></head>\n\
         <body><h1>URL-seen filters, compared</h1>\n{}<pre>{}</pre></body></html>\n",
        svg(comparison),
        Escaped(table)
    )
}

fn put(svg: &mut String, element: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = writeln!(svg, "{element}");
}

/// A text, escaped for XML and HTML.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // XML cannot hold the other control characters.
                c if c.is_control() && c != '\n' && c != '\t' => f.write_str("\u{fffd}")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// From 0 to 1 along one side of a panel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
}

/// Maximum number of ticks after the first: more would touch.
const MAX_TICKS: u32 = 8;

impl Axis {
    /// From 0 to `high`, above 0.
    pub(super) fn linear(high: f64) -> Self {
        Self { low: 0.0, high, is_log: false }
    }

    /// Between two powers of ten that enclose these values, which are above 0.
    pub(super) fn log(low: f64, high: f64) -> Self {
        // A division may leave a power of ten slightly off.
        let low = (low.log10() + 1e-9).floor();
        Self { low, high: (high.log10() - 1e-9).ceil().max(low + 1.0), is_log: true }
    }

    /// The first and last value.
    pub(super) fn ends(&self) -> (f64, f64) {
        if self.is_log { (10_f64.powf(self.low), 10_f64.powf(self.high)) } else { (self.low, self.high) }
    }

    /// From 0 to 1; `None` outside the ends.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let value = if self.is_log { value.log10() } else { value };
        let place = (value - self.low) / (self.high - self.low);
        // NaN is outside too.
        (-1e-9..=1.0 + 1e-9).contains(&place).then_some(place)
    }

    /// The positions of the ticks, and their labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let step = if self.is_log {
            ((self.high - self.low) / f64::from(MAX_TICKS)).ceil().max(1.0)
        } else {
            round_step(self.high / 5.0)
        };
        (0..=MAX_TICKS)
            .map(|tick| self.low + f64::from(tick) * step)
            .take_while(|&at| at <= self.high * (1.0 + 1e-9) + 1e-9)
            .map(|at| {
                let label = if self.is_log { format!("1e{at:.0}") } else { thousands(whole(at)) };
                ((at - self.low) / (self.high - self.low), label)
            })
            .collect()
    }
}

/// The least of 1, 2, 5, 10, 20, ... that is at least `step`.
fn round_step(step: f64) -> f64 {
    let decade = 10_f64.powf(step.log10().floor()).max(1.0);
    [1.0, 2.0, 5.0].map(|part| part * decade).into_iter().find(|&round| round >= step).unwrap_or(10.0 * decade)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::seen::compare::workload::List;

    /// Whether every opened element is closed, in order.
    fn is_well_formed(text: &str) -> bool {
        let mut open = Vec::new();
        for tag in text.split('<').skip(1) {
            let Some((tag, _)) = tag.split_once('>') else { return false };
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or("");
            if tag.starts_with('/') {
                if open.pop() != Some(name) {
                    return false;
                }
            } else if !tag.ends_with('/') {
                open.push(name);
            }
            if tag.matches('\'').count() % 2 == 1 {
                return false;
            }
        }
        open.is_empty()
    }

    #[test]
    fn the_picture_is_well_formed_and_says_what_it_shows() {
        let mut comparison = Comparison::new(List::generated(2000, 0.1).unwrap(), &[0.2, 0.1]);
        comparison.filling.curves[0].name = "</svg><script>'&".to_owned();
        let svg = svg(&comparison);
        assert!(is_well_formed(&svg), "{svg}");
        assert!(!svg.contains("<script"));
        assert!(svg.contains("&lt;/svg&gt;&lt;script&gt;&#39;&amp;"));
        assert!(svg.contains("Sized for 1,000 URLs at 2e-1"));
        assert!(svg.matches("<circle").count() > 60 && !svg.contains("NaN"));
        let page = html(&comparison, "a < b\n");
        assert!(page.contains("<pre>a &lt; b\n</pre>"));
        assert!(is_well_formed(&svg) && !is_well_formed("<a><b></a>"));
    }

    #[test]
    fn control_characters_do_not_reach_the_parser() {
        assert_eq!(Escaped("a\u{0}\u{1b}\nb").to_string(), "a\u{fffd}\u{fffd}\nb");
    }

    #[test]
    fn a_log_axis_runs_between_powers_of_ten() {
        let axis = Axis::log(3e-4, 0.5);
        assert_eq!(
            axis.ticks().iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>(),
            ["1e-4", "1e-3", "1e-2", "1e-1", "1e0"]
        );
        assert!((axis.place(0.01).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!([0.0, 1e-5, 2.0, f64::NAN].map(|value| axis.place(value)), [None; 4]);
        let same = Axis::log(1e-2 / 1000.0, 1.0);
        assert_eq!(same.ticks()[0].1, "1e-5");
    }

    #[test]
    fn a_linear_axis_has_round_ticks() {
        let ticks = |high| Axis::linear(high).ticks().into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(ticks(20_000.0), ["0", "5,000", "10,000", "15,000", "20,000"]);
        assert_eq!(ticks(3.0), ["0", "1", "2", "3"]);
        assert_eq!(ticks(1e6), ["0", "200,000", "400,000", "600,000", "800,000", "1,000,000"]);
        assert_eq!(Axis::linear(10.0).place(5.0), Some(0.5));
    }
}
