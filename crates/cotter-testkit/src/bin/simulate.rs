//! Runs simulations: `simulate --seed N` prints the history of one, `simulate FROM TO` checks many.

use cotter_testkit::simulation::simulate;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "simulate --seed N | simulate FROM TO";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    let said = match (args.first().map(String::as_str), &numbers[..]) {
        (Some("--seed"), [seed]) => history(*seed),
        (Some(_), [from, to]) => many(*from, *to),
        _ => Err(USAGE.to_owned()),
    };
    let (text, code) = match said {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(text) => (text, ExitCode::FAILURE),
    };
    let _ = writeln!(std::io::stdout().lock(), "{text}");
    code
}

fn history(seed: u64) -> Result<String, String> {
    let outcome = simulate(seed);
    let mut text = outcome.history.join("\n");
    for violation in &outcome.violations {
        text.push_str(&format!("\n{violation}"));
    }
    text.push_str(&format!("\nseed {seed}: {} locks in {:.1?}", outcome.cycles, outcome.simulated));
    if outcome.violations.is_empty() { Ok(text) } else { Err(text) }
}

fn many(from: u64, to: u64) -> Result<String, String> {
    let (began, mut locks, mut simulated, mut faults) = (Instant::now(), 0, Duration::ZERO, 0);
    let mut restarts = 0;
    for seed in from..to {
        let outcome = simulate(seed);
        if let Some(violation) = outcome.violations.first() {
            return Err(format!("seed {seed}: {violation}"));
        }
        locks += outcome.cycles;
        simulated += outcome.simulated;
        restarts += outcome.restarts;
        let counts = outcome.counts;
        faults +=
            outcome.cuts + outcome.restarts + counts.lost_replies + counts.late_requests + counts.refused;
    }
    let seeds = to.saturating_sub(from);
    Ok(format!(
        "{seeds} seeds, {locks} locks, {faults} faults, {restarts} of them restarts, {simulated:.0?} simulated in {:.1?}",
        began.elapsed()
    ))
}
