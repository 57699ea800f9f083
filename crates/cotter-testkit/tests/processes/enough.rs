//! A run is over when it has met what it is made for, and void when it never does.

use crate::setup::{on_files, show};
use cotter_testkit::history::Kind;
use cotter_testkit::processes::{Injections, Outcome, Run, Trouble};
use std::io;
use std::time::Duration;

/// Something that comes true with the last of so many steps.
struct Slow {
    steps: usize,
}

impl Trouble for Slow {
    fn step(&mut self) -> io::Result<()> {
        self.steps = self.steps.saturating_sub(1);
        Ok(())
    }

    fn so_far(&self) -> (usize, usize) {
        (0, 0)
    }

    fn lacks(&self) -> Option<String> {
        (self.steps > 0).then(|| "it has not come true".to_owned())
    }

    fn end(&mut self) -> io::Result<Outcome> {
        Ok(Outcome::default())
    }
}

fn short(run: &mut Run) {
    (run.processes, run.orders.work_us, run.acquisitions) = (3, 500, 10);
}

/// What it is void for.
fn lacks(run: &Run, trouble: &mut Slow) -> Vec<String> {
    let report = run.go_under(trouble).expect("the run can be made");
    assert!(report.violations.iter().all(|v| v.kind == Kind::Void), "{:?}", report.violations);
    report.violations.into_iter().map(|v| v.text).collect()
}

#[test]
fn a_run_goes_on_until_it_has_enough_of_everything() {
    let (_place, mut run) = on_files();
    short(&mut run);
    (run.contended, run.kills, run.after_kills, run.faults) = (1_500, 4, 3, 12);
    run.injections = Injections {
        kill_every: Some(20_000..60_000),
        kill_holders: 1.0,
        stop_every: Some(20_000..60_000),
        stop_for_us: 1_000..5_000,
    };
    let mut slow = Slow { steps: 2_000 };
    let report = run.go_under(&mut slow).expect("the run can be made");
    show("enough of everything", &report);
    report.demand_clean();
    assert!(report.contended >= 1_500 && report.kills >= 4 && report.confirmed >= 12, "{report}");
    assert!(report.stops >= 1 && report.after_kill.count() >= 3 && slow.steps == 0, "{report}");
}

/// One thing at a time that cannot be: everything else is there.
#[test]
fn a_run_that_never_has_enough_is_void_at_the_far_end() {
    let (_place, mut run) = on_files();
    short(&mut run);
    run.patience = Duration::from_secs(2);
    let never = 3_600_000_000;
    let kills = |kill_every| Injections { kill_every, kill_holders: 1.0, ..Injections::default() };
    let stops = Injections { stop_every: Some(never..never + 1), ..Injections::default() };
    type Case<'a> = (&'a str, &'a dyn Fn(&mut Run), usize);
    let cases: [Case<'_>; 6] = [
        ("waits were contended", &|run| run.contended = usize::MAX, 0),
        ("faults were confirmed", &|run| run.faults = 1, 0),
        ("0 kills of processes", &|run| run.injections = kills(Some(never..never + 1)), 0),
        ("0 stops of processes", &|run| run.injections = stops.clone(), 0),
        ("holds after a kill", &|run| run.after_kills = usize::MAX, 0),
        ("it has not come true", &|_| (), usize::MAX),
    ];
    for (n, (text, want, steps)) in cases.into_iter().enumerate() {
        let mut run = run.clone();
        run.orders.log = run.orders.log.join(n.to_string());
        want(&mut run);
        let found = lacks(&run, &mut Slow { steps });
        assert!(found.iter().any(|found| found.contains(text)), "{text}: {found:?}");
    }
}
