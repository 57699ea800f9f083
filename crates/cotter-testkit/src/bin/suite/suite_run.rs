//! Which programs run, in which order, and what is repeated.

use super::libtest::Results;
use super::program_run::{self, Choice, Ended};
use super::programs::Program;
use super::summary::{Failure, Summary};
use super::verdict::{REPEATS, Verdict};
use super::{Result, say};
use std::thread;

/// These programs mostly wait for a server or for time to pass: more of their tests at once than there are cores. Others
/// tell milliseconds apart. With twelve, two slow cores have a load of 17 now and then, and servers do not answer in time.
const WAITING: [&str; 3] = ["library", "cli", "scheduler"];
const AT_ONCE: usize = 8;

/// Runs of many processes. The replicas mostly wait, for minutes: beside everything else. A storm is eight processes that
/// use a third of two cores: some beside each other, and nothing else.
const FLEETS: &str = "processes";
const FLEET_RUNS: &str = "fleet_runs::";
const REPLICAS: &str = "fleet_runs::replicas";
const STORMS: &str = "fleet_runs::storm_on";
const STORMS_AT_ONCE: usize = 3;

/// More failures than this in one program have one cause, and repeating all of them would take hours.
const REPEATED_AT_MOST: usize = 20;

/// Runs the tests of these programs with one of `only` in their names, all of them if that is empty, but those with one of
/// `skipped`.
pub(crate) fn some(programs: &[Program], only: &[String], skipped: &[String]) -> Result<Summary> {
    let mut summary = Summary::default();
    for program in in_order(programs) {
        let threads = is_waiting(program).then_some(AT_ONCE);
        let choice = Choice { only: only.to_vec(), skipped: skipped.to_vec(), threads, prefix: "" };
        summary.take(run_and_repeat(program, &choice)?);
    }
    Ok(summary)
}

/// The same for all programs of the workspace, and the runs of many processes.
pub(crate) fn all(programs: &[Program], skipped: &[String]) -> Result<Summary> {
    let fleets = programs.iter().find(|program| program.name == FLEETS).ok_or("there are no fleet runs")?;
    let fleet_runs = |filter: &str, threads, prefix| Choice {
        only: vec![filter.into()],
        skipped: skipped.to_vec(),
        threads,
        prefix,
    };
    thread::scope(|scope| {
        let beside = fleet_runs(REPLICAS, None, "replicas | ");
        let replicas = scope.spawn(move || program_run::run(fleets, &beside));
        let mut summary = some(programs, &[], &[skipped, &[FLEET_RUNS.into()]].concat())?;
        let ended = replicas.join().map_err(|_| "the replicas cannot be run")??;
        summary.take(judged(fleets, ended)?);
        summary.take(run_and_repeat(fleets, &fleet_runs(STORMS, Some(STORMS_AT_ONCE), ""))?);
        Ok(summary)
    })
}

fn is_waiting(program: &Program) -> bool {
    WAITING.contains(&program.name.as_str())
}

/// Those that mostly wait come first.
fn in_order(programs: &[Program]) -> impl Iterator<Item = &Program> {
    let waiting = programs.iter().filter(|program| is_waiting(program));
    waiting.chain(programs.iter().filter(|program| !is_waiting(program)))
}

fn run_and_repeat(program: &Program, choice: &Choice) -> Result<(Results, Vec<Failure>)> {
    say(&format!("\n-- {} {}", program.name, choice.only.join(" ")));
    judged(program, program_run::run(program, choice)?)
}

/// Repeats what has failed, at once.
fn judged(program: &Program, ended: Ended) -> Result<(Results, Vec<Failure>)> {
    let results = match ended {
        Ended::With(results) => results,
        Ended::Without(text) => return Ok((Results::default(), vec![Failure::of_program(program, text)])),
    };
    let repeats = if results.failed.len() > REPEATED_AT_MOST { 0 } else { REPEATS };
    let mut failures = Vec::new();
    for (test, text) in &results.failed {
        let again =
            (0..repeats).map(|_| program_run::run_alone(program, test)).collect::<Result<Vec<_>>>()?;
        let verdict = Verdict::of(text, &again);
        let failure =
            Failure { command: program.command(test), test: test.clone(), text: text.clone(), verdict };
        say(&failure.to_string());
        failures.push(failure);
    }
    Ok((results, failures))
}
