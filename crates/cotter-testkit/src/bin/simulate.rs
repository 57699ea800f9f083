//! Runs simulations: `simulate --seed N` prints the history of one, `simulate FROM TO` checks many, on all cores.

use cotter_testkit::simulation::{many, replay};
use std::io::Write;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

const USAGE: &str = "simulate --seed N | simulate FROM TO";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    let said = match (args.first().map(String::as_str), &numbers[..]) {
        (Some("--seed"), [seed]) => history(*seed),
        (Some(_), [from, to]) => all(*from, *to),
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
    let outcome = replay(seed);
    let mut text = outcome.history.join("\n");
    for violation in &outcome.violations {
        text.push_str(&format!("\n{violation}"));
    }
    let (locks, faults) = (outcome.cycles, outcome.faults());
    text.push_str(&format!("\nseed {seed}: {locks} locks and {faults} faults in {:.1?}", outcome.simulated));
    if outcome.violations.is_empty() { Ok(text) } else { Err(text) }
}

fn all(from: u64, to: u64) -> Result<String, String> {
    let began = Instant::now();
    let threads = available_parallelism().map_or(1, usize::from);
    let totals = many(from..to, threads).map_err(|failure| failure.to_string())?;
    Ok(format!("seeds {from} to {to}, in {:.1?}: {totals}", began.elapsed()))
}
