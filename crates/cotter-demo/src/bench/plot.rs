//! All figures as a picture: for each a bar of cotter's, and below it one of the same work without cotter.

use super::figure::{Figure, thousands};
use super::rounds::Spread;
use cotter_console::svg::Svg;
use std::io::{self, Write};

const MARGIN: f64 = 16.0;
/// Where bars begin, behind what they are called.
const LEFT: f64 = 250.0;
/// The longest bar of each figure.
const LONGEST: f64 = 360.0;
const WIDTH: f64 = LEFT + LONGEST + 190.0;
const TOP: f64 = 52.0;
const LINE: f64 = 18.0;
const GAP: f64 = 12.0;
const OURS: &str = "#4c78a8";
const THEIRS: &str = "#b0b0b0";
const TEXT: &str = "#333";

/// Draws what was measured on a store.
///
/// # Errors
/// It cannot be written.
pub(super) fn draw(instance: &str, figures: &[Figure], to: &mut impl Write) -> io::Result<()> {
    let mut svg = Svg::default();
    svg.text([MARGIN, 20.0], TEXT, instance);
    let legend =
        "medians of three rounds, with lines from minimum to maximum; each group has a scale of its own";
    svg.text([MARGIN, 36.0], TEXT, legend);
    let mut top = TOP;
    for figure in figures {
        top = group(&mut svg, figure, top);
    }
    to.write_all(svg.document(WIDTH, top).as_bytes())
}

/// One figure; where the next one begins.
fn group(svg: &mut Svg, figure: &Figure, mut top: f64) -> f64 {
    svg.text([MARGIN, top + 12.0], "#000", &figure.name);
    top += LINE;
    let most = figure.bars.iter().fold(1e-9_f64, |most, (_, spread)| most.max(spread.max));
    for (number, (what, spread)) in figure.bars.iter().enumerate() {
        let is_ours = number == 0 || figure.unit() == "us";
        let colour = if is_ours { OURS } else { THEIRS };
        bar(svg, [what, figure.unit()], spread, LONGEST / most, (colour, top));
        top += LINE;
    }
    top + GAP
}

fn bar(svg: &mut Svg, [what, unit]: [&str; 2], spread: &Spread, scale: f64, (colour, top): (&str, f64)) {
    let Spread { min, median, max } = *spread;
    let said = format!("{} {unit}", thousands(median));
    let range = format!("{said}, {} to {}", thousands(min), thousands(max));
    let x = |value: f64| LEFT + value * scale;
    svg.text([MARGIN * 2.0, top + 11.0], TEXT, what);
    svg.bar([LEFT, top, median * scale, 14.0], colour, 1.0, &range);
    svg.line([x(min), top + 7.0], [x(max), top + 7.0], "#000");
    svg.text([x(max) + 8.0, top + 11.0], TEXT, &said);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The widths of all bars.
    fn widths(svg: &str) -> Vec<f64> {
        let bars = svg.lines().filter(|line| line.starts_with("<rect x="));
        let width =
            |line: &str| line.split("width=\"").nth(1).and_then(|rest| rest.split('"').next()?.parse().ok());
        bars.filter_map(width).collect()
    }

    #[test]
    fn bars_are_as_long_as_what_was_measured() {
        let pairs =
            Figure::pairs(1, 1).with(&[50.0, 100.0, 150.0], Some(("raw <calls>", &[400.0, 200.0, 200.0])));
        let handover = Figure::handover().with_times(&[vec![10.0, 20.0, 40.0]]);
        let mut svg = Vec::new();
        draw("store & more", &[pairs, handover], &mut svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        // The longest is the maximum of the raw calls, and then the 99th percentile of three, which is their median.
        assert_eq!(widths(&svg), [LONGEST / 4.0, LONGEST / 2.0, LONGEST, LONGEST], "{svg}");
        for part in [
            ">store &amp; more<",
            ">raw &lt;calls&gt;<",
            ">100 /s<",
            "100 /s, 50 to 150",
            ">20 us<",
            ">lock and release, 1 task<",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }

    #[test]
    fn nothing_that_was_measured_is_a_picture_all_the_same() {
        let none = Figure::pairs(1, 1).with(&[0.0], None);
        let mut svg = Vec::new();
        draw("", &[none], &mut svg).unwrap();
        assert!(!String::from_utf8(svg).unwrap().contains("NaN"));
    }
}
