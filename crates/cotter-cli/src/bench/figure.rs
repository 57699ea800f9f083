//! One figure, and how it is shown.

use super::raw::Beside;
use crate::output::{Console, Failure};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write, stdout};

/// Cells of a bar that is as long as that of the raw calls.
const BAR: usize = 20;
const NAME: usize = 34;

#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    facts: Value,
    text: String,
    /// Of the raw calls, and what those are.
    part: Option<(f64, &'static str)>,
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
        Self { name, facts, text: String::new(), part: None }
    }

    pub(super) fn pairs(tasks: u32) -> Self {
        Self::new(format!("lock and release, {}", words(tasks)), json!({ "type": "pairs", "tasks": tasks }))
    }

    pub(super) fn one_name(tasks: u32) -> Self {
        Self::new(format!("one name, {}", words(tasks)), json!({ "type": "one_name", "tasks": tasks }))
    }

    pub(super) fn handover(micros: Vec<f64>) -> Self {
        let at = |part: f64| micros[((micros.len() - 1) as f64 * part) as usize];
        let (median, p99, worst) = (at(0.5), at(0.99), at(1.0));
        let facts = json!({
            "type": "handover", "times": micros.len(),
            "median_micros": median, "p99_micros": p99, "worst_micros": worst,
        });
        let mut figure = Self::new("to another process".into(), facts);
        figure.text = format!("{median:>10.0} us   99 of 100 within {p99:.0}, worst {worst:.0}");
        figure
    }

    /// With what was measured.
    pub(super) fn with(mut self, per_second: f64, beside: Option<Beside>) -> Self {
        self.facts["per_second"] = per_second.round().into();
        self.text = format!("{:>10} /s", thousands(per_second));
        if let Some(beside) = beside {
            let part = per_second / beside.per_second;
            self.facts["raw"] = beside.what.into();
            self.facts["raw_per_second"] = beside.per_second.round().into();
            self.facts["ratio"] = ((part * 1000.0).round() / 1000.0).into();
            self.part = Some((part, beside.what));
        }
        self
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
        writeln!(console.out(), "{:<NAME$}{}{beside}", self.name, self.text)?;
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

/// Blocks and eighths of blocks, on a ground of dots.
fn bar(part: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part.clamp(0.0, 1.0) * BAR as f64 * 8.0).round() as usize;
    let text = format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]);
    let rest = BAR - text.chars().count();
    format!("{text}{}", "·".repeat(rest))
}

fn thousands(number: f64) -> String {
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
