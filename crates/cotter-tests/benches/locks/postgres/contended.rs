//! One name that two or four processes want: how often a second it goes to another process.

use super::server;
use crate::redis::race::round;
use crate::rounds::spread;

const ROUNDS: usize = 3;
const MODES: [&str; 3] = ["lease", "advisory", "row"];

pub(crate) fn run() {
    let server = server();
    println!("every acquisition through the server; {ROUNDS} rounds: min, median, max");
    for (processes, tasks) in [(2, 1), (4, 4)] {
        println!("\n{processes} processes, tasks in each: {tasks}");
        let mut outcomes = MODES.map(|_| Vec::new());
        for _ in 0..ROUNDS {
            for (mode, outcomes) in MODES.iter().zip(&mut outcomes) {
                outcomes.push(round("one-by-one", &server.url(&format!("mode={mode}")), processes, tasks));
            }
        }
        for (mode, outcomes) in MODES.iter().zip(outcomes) {
            let between = spread(outcomes.iter().map(|o| o.between).collect());
            let worst = spread(outcomes.iter().map(|o| o.worst_ms).collect());
            println!(
                "{mode:<10} to another process, per second {between:>8.0?}   longest wait, ms {worst:>8.1?}"
            );
        }
    }
}
