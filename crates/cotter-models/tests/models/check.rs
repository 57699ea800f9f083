//! Runs the checker and says what it saw.

use std::collections::BTreeSet;
use std::io::Write;

use stateright::{Checker, HasDiscoveries, Model, Path};

use crate::bounds::Bounds;
use crate::model::{Protocol, Step};
use crate::rules::{Promise, Rule, Rules};
use crate::state::State;
use crate::watch::Event;

/// Counts belong to the result, so they are written where `--nocapture` shows them.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Explores a whole world under all rules and asserts that every promise is kept.
pub(crate) fn keeps(bounds: Bounds) {
    let name = bounds.name;
    let model = Protocol { rules: Rules::default(), bounds };
    let checker = model.checker().threads(2).spawn_bfs().join();
    say(&format!(
        "kept: {name}: {} states, {} steps deep",
        checker.unique_state_count(),
        checker.max_depth() - 1
    ));
    let broken = checker.discoveries().into_iter().next();
    if let Some((promise, path)) = broken {
        panic!("{name}: {promise} is broken under all rules:\n{}", told(path));
    }
}

/// Asserts that without the rule the promise is broken, and that with it the same world holds, at
/// least as deep as the path that was found.
pub(crate) fn breaks(rule: Rule, promise: Promise, bounds: Bounds) {
    let model = Protocol { rules: Rules::without(rule), bounds };
    let (steps, states) = search(&model, promise, &format!("{rule:?} left out"));
    let sound = Protocol { rules: Rules::default(), ..model };
    let control = sound.checker().target_max_depth(steps + 1).threads(2).spawn_bfs().join();
    let held = control.unique_state_count();
    say(&format!(
        "found: without {rule:?}: {promise:?}, {steps} steps, {states} states; with it {held} hold"
    ));
    if let Some((promise, path)) = control.discoveries().into_iter().next() {
        panic!("{rule:?}: {promise} is broken under all rules too:\n{}", told(path));
    }
}

/// Asserts that a promise does *not* hold in a world, although every rule is in force.
pub(crate) fn limits(promise: Promise, bounds: Bounds) {
    let name = bounds.name;
    let (steps, states) = search(&Protocol { rules: Rules::default(), bounds }, promise, name);
    say(&format!("limit: {name}: {promise:?}, {steps} steps, {states} states"));
}

/// Length of a shortest path that breaks the promise, and how many states were looked at.
fn search(model: &Protocol, promise: Promise, what: &str) -> (usize, usize) {
    let wanted = HasDiscoveries::AnyOf(BTreeSet::from([promise.name()]));
    let checker = model.clone().checker().finish_when(wanted).spawn_bfs().join();
    let states = checker.unique_state_count();
    let path = checker.discovery(promise.name()).unwrap_or_else(|| {
        let others: Vec<_> = checker.discoveries().into_keys().collect();
        panic!("{what} breaks no {promise:?} in {states} states, only {others:?}")
    });
    (path.into_actions().len(), states)
}

/// Asserts that every event can be reached.
pub(crate) fn reaches(bounds: Bounds, events: &[Event]) {
    let name = bounds.name;
    let model = Protocol { rules: Rules::default(), bounds: Bounds { record: true, ..bounds } };
    let all = HasDiscoveries::AllOf(events.iter().map(|event| event.name()).collect());
    let checker = model.checker().finish_when(all).spawn_bfs().join();
    for event in events.iter().map(|event| event.name()) {
        let path = checker.discovery(event);
        let path = path.unwrap_or_else(|| panic!("{name}: never reached: {event}"));
        say(&format!("reached: {name}: {event}, within {} steps", path.into_actions().len()));
    }
}

fn told(path: Path<State, Step>) -> String {
    let last = path.last_state().clone();
    let steps: Vec<_> = path.into_actions().iter().map(|step| format!("{step:?}")).collect();
    format!("{}\n{last:#?}", steps.join("\n"))
}
