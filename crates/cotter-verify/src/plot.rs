//! The history as a picture: a row for each process, and time from left to right.

use crate::history::{Believed, Hold, millis};
use crate::judge::Violation;
use cotter_console::svg::Svg;
use std::io::{self, Write};

const LEFT: f64 = 96.0;
const WIDTH: f64 = 1600.0;
const ROW: f64 = 34.0;
const BAR: f64 = 18.0;
const TOP: f64 = 56.0;
/// One colour for each name, in turn; all are told apart by those who see no red or no green.
const COLOURS: [&str; 6] = ["#4c78a8", "#72b7b2", "#b79a20", "#9d755d", "#8c6bb1", "#7f7f7f"];
const RED: &str = "#d62728";

/// Draws a run.
///
/// # Errors
/// It cannot be written.
pub(crate) fn draw(run: &Believed, violations: &[Violation], to: &mut impl Write) -> io::Result<()> {
    let picture = Picture::of(run);
    let mut svg = Svg::default();
    picture.frame(&mut svg);
    picture.faults(&mut svg);
    run.waits.iter().for_each(|wait| {
        let row = picture.row(wait.process);
        svg.line(
            [picture.x(wait.from), row + BAR / 2.0],
            [picture.x(wait.to), row + BAR / 2.0],
            picture.colour(&wait.name),
        );
    });
    run.holds.iter().for_each(|hold| picture.hold(&mut svg, hold));
    violations.iter().for_each(|violation| picture.violation(&mut svg, violation));
    let height = TOP + ROW * picture.processes.len() as f64 + 40.0;
    to.write_all(svg.document(LEFT + WIDTH + 24.0, height).as_bytes())
}

struct Picture<'a> {
    run: &'a Believed,
    processes: Vec<u32>,
    names: Vec<&'a str>,
}

impl<'a> Picture<'a> {
    fn of(run: &'a Believed) -> Self {
        let lives = run.lives.iter().map(|life| life.0);
        let mut processes: Vec<_> = lives.chain(run.waits.iter().map(|wait| wait.process)).collect();
        processes.sort_unstable();
        processes.dedup();
        Self { run, processes, names: run.names() }
    }

    /// Where a time is.
    fn x(&self, at: u64) -> f64 {
        let whole = (self.run.end - self.run.begin).max(1) as f64;
        let at = at.clamp(self.run.begin, self.run.end) - self.run.begin;
        LEFT + at as f64 / whole * WIDTH
    }

    /// Where the row of a process begins.
    fn row(&self, process: u32) -> f64 {
        let number = self.processes.iter().position(|known| *known == process).unwrap_or_default();
        TOP + ROW * number as f64
    }

    fn colour(&self, name: &str) -> &'static str {
        let number = self.names.iter().position(|known| *known == name).unwrap_or_default();
        COLOURS[number % COLOURS.len()]
    }

    /// The legend, the rows and the seconds.
    fn frame(&self, svg: &mut Svg) {
        let legend =
            "bars: holds, with their tokens; lines: waits; grey: paused; ✕: killed; red: a violation";
        svg.text([LEFT, 16.0], "#333", legend);
        let mut x = LEFT;
        for name in &self.names {
            svg.bar([x, 24.0, 12.0, 12.0], self.colour(name), 1.0, name);
            svg.text([x + 16.0, 34.0], "#333", name);
            x += 40.0 + 7.0 * name.chars().count() as f64;
        }
        for process in &self.processes {
            svg.text([8.0, self.row(*process) + 14.0], "#333", &format!("process {process}"));
        }
        let bottom = TOP + ROW * self.processes.len() as f64;
        let whole = millis(self.run.end - self.run.begin) / 1e3;
        let step = [1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0]
            .into_iter()
            .find(|step| whole / step <= 20.0)
            .unwrap_or(whole);
        let mut second = 0.0;
        while second <= whole {
            let x = LEFT + second / whole.max(1e-9) * WIDTH;
            svg.line([x, TOP - 6.0], [x, bottom], "#ddd");
            svg.text([x, bottom + 16.0], "#333", &format!("{second} s"));
            second += step.max(1e-3);
        }
    }

    fn faults(&self, svg: &mut Svg) {
        for (from, to, text, succeeded) in &self.run.during {
            let told = if *succeeded { "the operator" } else { "the operator, in vain" };
            let bottom = ROW * self.processes.len() as f64;
            svg.bar(
                [self.x(*from), TOP - 6.0, self.x(*to) - self.x(*from), bottom],
                "#f2c14e",
                0.35,
                &format!("{told}: {text}"),
            );
        }
        for (process, from, to) in &self.run.pauses {
            let told = format!("process {process} was paused for {:.0} ms", millis(to - from));
            svg.bar(
                [self.x(*from), self.row(*process) - 5.0, self.x(*to) - self.x(*from), BAR + 10.0],
                "#ccc",
                1.0,
                &told,
            );
        }
        for (process, at) in &self.run.kills {
            svg.text([self.x(*at) - 5.0, self.row(*process) + 14.0], "#000", "✕");
        }
    }

    fn hold(&self, svg: &mut Svg, hold: &Hold) {
        let (from, to) = (self.x(hold.got), self.x(hold.end));
        let token = hold.token.map(|token| token.to_string()).unwrap_or_default();
        let end = hold.end.min(self.run.end);
        let told = format!(
            "{}: process {}, token {token}, {:.1} ms, ended: {:?}",
            hold.name,
            hold.process,
            millis(end.saturating_sub(hold.got)),
            hold.by
        );
        svg.bar(
            [from, self.row(hold.process), (to - from).max(1.0), BAR],
            self.colour(&hold.name),
            1.0,
            &told,
        );
        if to - from > 7.0 * token.chars().count() as f64 {
            svg.text([from + 3.0, self.row(hold.process) + 13.0], "#fff", &token);
        }
    }

    fn violation(&self, svg: &mut Svg, violation: &Violation) {
        let (from, to) = (self.x(violation.from), self.x(violation.to));
        let told = format!("{}: {}: {}", violation.kind, violation.name, violation.text);
        for process in &violation.processes {
            svg.bar(
                [from - 1.0, self.row(*process) - 3.0, (to - from).max(3.0), BAR + 6.0],
                RED,
                0.75,
                &told,
            );
        }
        svg.bar([from - 1.0, TOP - 10.0, (to - from).max(3.0), 4.0], RED, 1.0, &told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Event, What};
    use crate::judge::{Needed, judge};

    #[test]
    fn holds_waits_faults_and_violations_are_drawn_and_text_is_text() {
        let name = "<a> & \"b\"";
        let asked = || What::Asked { name: name.into() };
        let acquired = |token| What::Acquired { token: Some(token), until: None };
        let story = [
            (1, 1, asked()),
            (2_000_000, 1, acquired(41)),
            (2_500_000, 2, asked()),
            (3_000_000, 1, What::Paused),
            (8_000_000, 2, acquired(42)),
            (9_000_000, 1, What::Continued),
            (10_000_000, 2, What::Killed),
        ];
        let events: Vec<_> =
            story.into_iter().map(|(at, process, what)| Event { at, process, what }).enumerate().collect();
        let run = Believed::of(&events).unwrap();
        let verdict = judge(&run, Needed { contended: 0, faults: 0 });
        let mut svg = Vec::new();
        draw(&run, &verdict.violations, &mut svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(!svg.contains(name) && svg.contains("&lt;a&gt; &amp; &quot;b&quot;"), "{svg}");
        for part in [">41<", "was paused for 6 ms", "✕", RED, "overlap-after-pause", ">process 2<"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        let mut calm = Vec::new();
        draw(&run, &[], &mut calm).unwrap();
        assert!(!String::from_utf8(calm).unwrap().contains(RED));
    }
}
