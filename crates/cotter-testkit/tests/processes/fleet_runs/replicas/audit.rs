//! Whether what the replicas have written down is as it should be.

use super::fleet::Done;
use cotter_scheduler::{Ending, UnixTime};
use cotter_testkit::replica::{Line, WorkLog};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The work log beside the history.
pub(crate) struct Audit<'a> {
    lines: Vec<Line>,
    done: &'a Done,
}

impl<'a> Audit<'a> {
    pub(crate) fn new(work_log: &Path, done: &'a Done) -> Self {
        Self { lines: WorkLog::read(work_log).expect("the work log can be read"), done }
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        let checks = [self.twice(), self.missing(), self.history(), self.barred(), self.overlaps()];
        checks.into_iter().flatten().collect()
    }

    /// Starts under a token that was valid: no larger one was seen before.
    fn valid(&self) -> impl Iterator<Item = &Line> {
        let mut largest = 0;
        self.lines.iter().filter(move |line| {
            largest = largest.max(line.token);
            line.what == "started" && line.token == largest
        })
    }

    fn twice(&self) -> Vec<String> {
        let mut seen = BTreeMap::new();
        let again = |line: &Line| {
            let before = seen.insert(line.slot.clone(), line.process)?;
            Some(format!("slot {} started by {} and by {}", line.slot, before, line.process))
        };
        self.valid().filter_map(again).collect()
    }

    /// The grid has no holes, whether its slots were run or have crashed.
    fn missing(&self) -> Vec<String> {
        let parse = |slot: &String| slot.parse::<UnixTime>().expect("a slot is an instant");
        let run = self.lines.iter().map(|line| parse(&line.slot));
        let all: BTreeSet<UnixTime> =
            run.chain(self.done.history.keys().map(|(_, slot)| parse(slot))).collect();
        let all: Vec<UnixTime> = all.into_iter().collect();
        let period = Duration::from_millis(self.done.period_ms);
        let holes = all.windows(2).filter(|pair| pair[1].since(pair[0]) != period);
        let mut found: Vec<String> =
            holes.map(|pair| format!("nothing between {} and {}", pair[0], pair[1])).collect();
        if (all.len() as u64) < self.done.slots {
            found.push(format!("only {} slots", all.len()));
        }
        found
    }

    /// What ended in the work log ended well in the history, and what did not has crashed or was lost.
    fn history(&self) -> Vec<String> {
        let ended: BTreeSet<_> =
            self.lines.iter().filter(|l| l.what == "ended").map(|l| (l.token, &l.slot)).collect();
        let mut wrong = Vec::new();
        let mut slots = BTreeSet::new();
        for ((token, slot), entry) in &self.done.history {
            if !slots.insert(slot) {
                wrong.push(format!("the history has slot {slot} twice"));
            }
            if entry.ending == Ending::Ok && !ended.contains(&(*token, slot)) {
                wrong.push(format!(
                    "the history says that {slot} was run under {token}, the work log does not"
                ));
            }
        }
        for line in self.valid() {
            let open = self.done.open == Some(line.token);
            if !open && !self.done.history.contains_key(&(line.token, line.slot.clone())) {
                wrong.push(format!("the history does not know of {} under {}", line.slot, line.token));
            }
        }
        wrong
    }

    fn barred(&self) -> Vec<String> {
        let theirs = self.lines.iter().filter(|line| self.done.barred.contains(&line.process));
        theirs
            .map(|line| format!("{} has started {} with a clock that is far off", line.process, line.slot))
            .collect()
    }

    /// A run that ended under a valid token had ended before the next one started.
    fn overlaps(&self) -> Vec<String> {
        let starts: Vec<&Line> = self.valid().collect();
        let end = |start: &Line| {
            let same = |l: &&Line| l.what == "ended" && l.token == start.token && l.slot == start.slot;
            self.lines.iter().find(same).map(|l| l.at)
        };
        let overlap = |pair: &&[&Line]| end(pair[0]).is_some_and(|end| end > pair[1].at);
        let found = starts.windows(2).filter(overlap);
        found.map(|pair| format!("{} had not ended when {} started", pair[0].slot, pair[1].slot)).collect()
    }
}

impl fmt::Display for Audit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |ending: &str| self.done.history.values().filter(|e| e.ending.word() == ending).count();
        write!(
            f,
            "{} slots ({} ok, {} crashed, {} failed), {} starts in the work log, {} kills, {} stops, seed {}",
            self.done.history.len(),
            count("ok"),
            count("crashed"),
            count("failed"),
            self.lines.iter().filter(|line| line.what == "started").count(),
            self.done.kills,
            self.done.stops,
            self.done.seed,
        )
    }
}
