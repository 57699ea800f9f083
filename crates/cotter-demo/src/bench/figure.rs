//! A figure and its output.

use super::race::Outcome;
use super::rounds::Spread;
use cotter_console::{Console, Failure};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write, stdout};

/// The width of a bar that corresponds to the raw calls.
const BAR_WIDTH: usize = 20;
const NAME_WIDTH: usize = 44;

#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    facts: Value,
    text: String,
    /// A second line.
    more: Option<String>,
    /// The ratio to the raw calls, and their name.
    part: Option<(f64, &'static str)>,
    /// What is compared, in the unit of the figure.
    pub(super) bars: Vec<(&'static str, Spread)>,
}

pub(super) fn title(instance: &str, console: &Console) -> Result<(), Failure> {
    if console.json {
        writeln!(console.out(), "{}", json!({ "type": "store", "instance": instance }))?;
    } else {
        writeln!(console.out(), "{instance}")?;
    }
    Ok(())
}

impl Figure {
    fn new(name: String, facts: Value) -> Self {
        Self { name, facts, text: String::new(), more: None, part: None, bars: Vec::new() }
    }

    pub(super) fn pairs(tasks: u32, threads: u32) -> Self {
        let name = match threads {
            1 => format!("lock and release, {}", words(tasks)),
            _ => format!("lock and release, {} on {threads} threads", words(tasks)),
        };
        Self::new(name, json!({ "type": "pairs", "tasks": tasks, "threads": threads }))
    }

    pub(super) fn one_name(processes: usize, tasks: u32) -> Self {
        let name = match processes {
            1 => format!("one name, {}", words(tasks)),
            _ => format!("one name, {processes} processes with {}", words(tasks)),
        };
        Self::new(name, json!({ "type": "one_name", "processes": processes, "tasks": tasks }))
    }

    pub(super) fn handover() -> Self {
        Self::new("to another process".into(), json!({ "type": "handover" }))
    }

    /// Adds the times of several rounds, in microseconds, each sorted.
    pub(super) fn with_times(mut self, rounds: &[Vec<f64>]) -> Self {
        let at = |part: f64| {
            let one = |times: &Vec<f64>| times[((times.len() - 1) as f64 * part) as usize];
            Spread::of(rounds.iter().map(one).collect())
        };
        let (median, late, worst) = (at(0.5), at(0.99), at(1.0));
        self.facts["times"] = rounds.iter().map(Vec::len).sum::<usize>().into();
        median.enter(&mut self.facts, "median_micros", 1);
        late.enter(&mut self.facts, "p99_micros", 1);
        self.facts["worst_micros"] = worst.max.into();
        self.bars = vec![("half of them within", median), ("99 of 100 within", late)];
        let [a, b] = [median.min, median.max].map(thousands);
        self.text = format!("{:>10} us   {a} to {b}", thousands(median.median));
        self.more =
            Some(format!("99 of 100 within {} us, worst {}", thousands(late.max), thousands(worst.max)));
        self
    }

    /// Adds the rate of each round, and that of the raw calls in the same round.
    pub(super) fn with(mut self, ours: &[f64], raw: Option<(&'static str, &[f64])>) -> Self {
        let rate = Spread::of(ours.to_vec());
        rate.enter(&mut self.facts, "per_second", 0);
        self.bars.push(("cotter", rate));
        let [a, b] = [rate.min, rate.max].map(thousands);
        self.text = format!("{:>10} /s   {a} to {b}", thousands(rate.median));
        if let Some((what, theirs)) = raw {
            let parts = Spread::of(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect());
            self.facts["raw"] = what.into();
            let raw = Spread::of(theirs.to_vec());
            raw.enter(&mut self.facts, "raw_per_second", 0);
            self.bars.push((what, raw));
            parts.enter(&mut self.facts, "ratio", 3);
            self.part = Some((parts.median, what));
        }
        self
    }

    /// Adds the figures of a contended name.
    pub(super) fn with_race(mut self, rounds: &[Outcome], raw: Option<(&'static str, &[f64])>) -> Self {
        let row = |figure: fn(&Outcome) -> f64| rounds.iter().map(figure).collect::<Vec<_>>();
        self = self.with(&row(|o| o.per_second), raw);
        let (handed, worst) = (Spread::of(row(|o| o.handed)), Spread::of(row(|o| o.worst_millis)));
        handed.enter(&mut self.facts, "handed_over", 4);
        worst.enter(&mut self.facts, "worst_wait_ms", 2);
        let mut more = format!("{} % to another task, ", percent(handed.median));
        if self.facts["processes"] != json!(1) {
            let between = Spread::of(row(|o| o.between));
            between.enter(&mut self.facts, "between_processes_per_second", 0);
            more += &format!("{} /s to another process, ", thousands(between.median));
        }
        self.more = Some(format!("{more}longest wait {:.1} ms", worst.max));
        self
    }

    /// The unit of its bars.
    pub(super) fn unit(&self) -> &'static str {
        if self.facts["type"] == "handover" { "us" } else { "/s" }
    }

    pub(super) fn show(&self, console: &Console) -> Result<(), Failure> {
        if console.json {
            writeln!(console.out(), "{}", self.facts)?;
            return Ok(());
        }
        let beside = self.part.map_or_else(String::new, |(part, what)| {
            let bar = if stdout().is_terminal() { format!("   {}", bar(part)) } else { String::new() };
            format!("{bar}   {} % of {what}", percent(part))
        });
        writeln!(console.out(), "{:<NAME_WIDTH$}{}{beside}", self.name, self.text)?;
        if let Some(more) = &self.more {
            writeln!(console.out(), "{:NAME_WIDTH$}{more}", "")?;
        }
        Ok(())
    }
}

fn words(tasks: u32) -> String {
    if tasks == 1 { "1 task".into() } else { format!("{tasks} tasks") }
}

fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent < 10.0 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

/// A bar of blocks and eighths of blocks, filled up with dots.
fn bar(part: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part.clamp(0.0, 1.0) * BAR_WIDTH as f64 * 8.0).round() as usize;
    let text = format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]);
    let rest = BAR_WIDTH - text.chars().count();
    format!("{text}{}", "·".repeat(rest))
}

pub(super) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bars() {
        assert_eq!([0.0, 999.4, 1000.0, 1_234_567.0].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(bar(0.0), "·".repeat(20));
        assert_eq!(bar(0.5), format!("{}{}", "█".repeat(10), "·".repeat(10)));
        assert_eq!(bar(7.0), "█".repeat(20));
        assert_eq!(bar(0.026).chars().next(), Some('▌'));
        assert_eq!([0.031, 0.22].map(percent), ["3.1", "22"]);
    }
}
