//! One name that everybody wants, in each mode, within a process and between processes.

use super::race::{Outcome, round};
use super::server_anywhere;
use crate::rounds::spread;

const ROUNDS: usize = 3;

/// What is measured, with the options of its URL.
const KINDS: [(&str, &str); 5] = [
    ("native", ""),
    // Every acquisition is one of the server.
    ("one-by-one", ""),
    ("plain", "mode=plain"),
    ("getset", "mode=getset"),
    ("rslock", ""),
];

pub(crate) fn run() {
    let server = server_anywhere();
    println!("two workers in each process; {ROUNDS} rounds: min, median, max");
    for (processes, tasks) in [(1, 2), (1, 4), (1, 64), (4, 4)] {
        println!("\n{processes} processes, {tasks} tasks in each");
        let mut outcomes: Vec<Vec<Outcome>> = KINDS.map(|_| Vec::new()).into();
        for _ in 0..ROUNDS {
            for ((kind, options), outcomes) in KINDS.iter().zip(&mut outcomes) {
                outcomes.push(round(kind, &server.open_url(options), processes, tasks));
                server.command(&["FLUSHALL"]);
            }
        }
        for ((kind, _), outcomes) in KINDS.iter().zip(&outcomes) {
            show(kind, outcomes, processes > 1);
        }
    }
}

fn show(kind: &str, outcomes: &[Outcome], several: bool) {
    let row = |figure: fn(&Outcome) -> f64| spread(outcomes.iter().map(figure).collect());
    let (all, changed) = (row(|o| o.per_second), row(|o| o.handovers));
    let share = row(|o| o.handovers / o.per_second * 100.0);
    let (between, worst, free) = (row(|o| o.between), row(|o| o.worst_ms), row(|o| o.free));
    let three = |[a, b, c]: [f64; 3], digits: usize| format!("{a:.digits$} {b:.digits$} {c:.digits$}");
    println!(
        "{kind:<11} acquisitions/s {:>23}   hand-overs/s {:>23}   share {} %",
        three(all, 0),
        three(changed, 0),
        three(share, 1)
    );
    if several {
        println!("{:<11} between processes/s {}", "", three(between, 0));
    }
    println!("{:<11} longest wait {} ms   free {} % of the time", "", three(worst, 1), three(free, 1));
}
