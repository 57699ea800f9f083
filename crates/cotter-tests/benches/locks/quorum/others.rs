//! `redlock://` beside other Redlock libraries on the same five servers.

use super::Members;
use crate::children::Other;
use crate::redis::pairs::{by_cotter, by_rslock};
use crate::redis::race::{Outcome, ROUND, among, start};
use crate::redis::{others, two_workers};
use crate::rounds::{compare, spread};
use cotter::Client;
use std::path::Path;
use std::process::{Command, Stdio};

const MEMBERS: usize = 5;
const PROCESSES: usize = 4;
const ROUNDS: usize = 3;

/// Programs that use libraries of other languages; `scripts/servers` installs them.
const REDSYNC: &str = "redsync";
const NODE_REDLOCK: &str = "node-redlock";

fn program(library: &str, members: &Members, args: &[&str]) -> Command {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let installed = here.join("../../target/servers");
    let mut program = if library == REDSYNC {
        Command::new(installed.join("go/redsync"))
    } else {
        let mut node = Command::new("node");
        node.env("NODE_PATH", installed.join("node/node_modules"));
        node.arg(here.join("tests/library/quorum/node_redlock.js"));
        node
    };
    program.arg(members.ports()).arg("one").args(args);
    program
}

/// Names that nobody else wants, one after the other: thousands of pairs a second.
pub(crate) fn pairs() {
    let (members, runtime) = (Members::start(MEMBERS), two_workers());
    let client = |options| Client::connect(members.url(options)).wait().unwrap();
    let (native, plain) = (client(""), client("mode=plain"));
    let manager = others::rslock(&members.urls());
    let by = |library| {
        let mut program = program(library, &members, &["pairs", "1"]);
        let said = program.stdin(Stdio::null()).output().expect("scripts/servers installs it").stdout;
        String::from_utf8_lossy(&said).trim().parse::<f64>().expect("pairs a second") / 1e3
    };
    for tasks in [1, 64] {
        println!("\n{tasks} tasks");
        let mut native = || by_cotter(&runtime, &native, tasks);
        let mut plain = || by_cotter(&runtime, &plain, tasks);
        let mut rslock = || by_rslock(&runtime, &manager, tasks);
        let (mut redsync, mut node) = (|| by(REDSYNC), || by(NODE_REDLOCK));
        let mut rows: Vec<(&str, &mut dyn FnMut() -> f64)> =
            vec![("native", &mut native), ("plain", &mut plain), ("rslock", &mut rslock)];
        if tasks == 1 {
            rows.push((REDSYNC, &mut redsync));
            rows.push((NODE_REDLOCK, &mut node));
        }
        compare("thousand pairs a second, five servers", &mut rows);
        members.clear();
    }
}

/// One name that several processes want, each in its library's own way of waiting.
pub(crate) fn contended() {
    let members = Members::start(MEMBERS);
    println!("{PROCESSES} processes with a task each; {ROUNDS} rounds: min, median, max");
    let seconds = ROUND.as_secs().to_string();
    let kinds = ["native", "plain", "rslock", REDSYNC, NODE_REDLOCK];
    let child = |kind: &str| match kind {
        "native" => start(kind, &members.url(""), 1),
        "plain" => start(kind, &members.url("mode=plain"), 1),
        "rslock" => start(kind, &members.urls(), 1),
        library => Other::run(program(library, &members, &["race", &seconds, "1"])),
    };
    let mut outcomes: Vec<Vec<Outcome>> = kinds.map(|_| Vec::new()).into();
    for _ in 0..ROUNDS {
        for (kind, outcomes) in kinds.iter().zip(&mut outcomes) {
            outcomes.push(among((0..PROCESSES).map(|_| child(kind)).collect()));
            members.clear();
        }
    }
    for (kind, outcomes) in kinds.iter().zip(&outcomes) {
        let row = |figure: fn(&Outcome) -> f64| {
            let [least, median, most] = spread(outcomes.iter().map(figure).collect());
            format!("{least:.0} {median:.0} {most:.0}")
        };
        println!(
            "{kind:<14} acquisitions/s {:>18}   hand-overs/s {:>18}   longest wait {:>18} ms",
            row(|o| o.per_second),
            row(|o| o.handovers),
            row(|o| o.worst_ms)
        );
    }
}
