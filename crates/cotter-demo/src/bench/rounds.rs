//! Several rounds of a measurement, because a single one says little about a machine with other work.

use serde_json::{Value, json};

/// The number of rounds per figure.
pub(super) const ROUNDS: usize = 3;

/// Minimum, median and maximum of the rounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) max: f64,
}

impl Spread {
    pub(super) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |i: usize| values.get(i).copied().unwrap_or_default();
        Self { min: at(0), median: at(values.len() / 2), max: at(values.len().saturating_sub(1)) }
    }

    /// Adds the median under this name, and the others with `_min` and `_max`.
    pub(super) fn enter(&self, facts: &mut Value, name: &str, digits: i32) {
        let round = |value: f64| {
            let unit = 10_f64.powi(digits);
            let rounded = (value * unit).round() / unit;
            if digits == 0 { json!(rounded as i64) } else { json!(rounded) }
        };
        facts[name] = round(self.median);
        facts[format!("{name}_min")] = round(self.min);
        facts[format!("{name}_max")] = round(self.max);
    }
}
