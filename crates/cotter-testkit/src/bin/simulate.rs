//! Runs simulations: `simulate --seed N` prints the history of one, `simulate FROM TO` checks many, on all cores.
//! `--unpolled` is about futures that are polled late or never.

use cotter_testkit::simulation::{Store, many, many_unpolled, replay};
use std::io::Write;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

const USAGE: &str = "usage: simulate [--store STORE] --seed N
       simulate [--store STORE] [--unpolled] FROM TO";

/// So many seeds are run twice, to compare what happens.
const REPLAYED: usize = 5;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let said = parse(&args).and_then(|(store, what)| match what {
        What::History(seed) => history(store, seed),
        What::All(from, to) => all(store, from, to),
        What::Unpolled(from, to) => all_unpolled(store, from, to),
    });
    let (text, code) = match said {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(text) => (text, ExitCode::FAILURE),
    };
    let _ = writeln!(std::io::stdout().lock(), "{text}");
    code
}

enum What {
    History(u64),
    All(u64, u64),
    Unpolled(u64, u64),
}

fn parse(args: &[String]) -> Result<(Store, What), String> {
    let (store, rest) = match args {
        [option, store, rest @ ..] if option == "--store" => (store.as_str(), rest),
        rest => ("quorum", rest),
    };
    let no_store = || {
        let all: Vec<String> = Store::all().into_iter().map(|(name, _)| name).collect();
        format!("there is no store {store:?}, only {}\n{USAGE}", all.join(", "))
    };
    let store = Store::parse(store).ok_or_else(no_store)?;
    let number = |arg: &str| arg.parse().map_err(|_| format!("{arg:?} is no number\n{USAGE}"));
    match rest {
        [option, from, to] if option == "--unpolled" => {
            Ok((store, What::Unpolled(number(from)?, number(to)?)))
        }
        [option, seed] if option == "--seed" => Ok((store, What::History(number(seed)?))),
        [from, to] => Ok((store, What::All(number(from)?, number(to)?))),
        _ => Err(USAGE.to_owned()),
    }
}

fn history(store: Store, seed: u64) -> Result<String, String> {
    let outcome = replay(store, seed);
    let mut text = outcome.history.join("\n");
    for violation in &outcome.violations {
        text.push_str(&format!("\n{violation}"));
    }
    let (locks, faults) = (outcome.cycles, outcome.faults());
    text.push_str(&format!("\nseed {seed}: {locks} locks and {faults} faults in {:.1?}", outcome.simulated));
    if outcome.violations.is_empty() { Ok(text) } else { Err(text) }
}

/// Some are replayed: a seed that does not repeat could not be looked at.
fn all(store: Store, from: u64, to: u64) -> Result<String, String> {
    let began = Instant::now();
    for seed in (from..to).take(REPLAYED) {
        if replay(store, seed).history != replay(store, seed).history {
            return Err(format!("{store}, seed {seed} does not repeat"));
        }
    }
    let threads = available_parallelism().map_or(1, usize::from);
    let totals = many(store, from..to, threads).map_err(|failure| failure.to_string())?;
    Ok(format!("{store}, seeds {from} to {to}, in {:.1?}: {totals}", began.elapsed()))
}

fn all_unpolled(store: Store, from: u64, to: u64) -> Result<String, String> {
    Ok(format!("{store}, unpolled, seeds {from} to {to}: {}", many_unpolled(store, from..to)?))
}
