//! Whether what the replicas have written down is as it should be.

mod tests;

use super::fleet::Done;
use cotter_scheduler::{Ending, UnixTime};
use cotter_testkit::replica::{CRON, JOBS, Line, ORDERS, TICK, WorkLog};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The work log beside the history.
pub(crate) struct Audit<'a> {
    lines: Vec<Line>,
    done: &'a Done,
}

/// The same of one job: tokens are those of its lock.
struct OfJob<'a> {
    job: &'static str,
    lines: Vec<&'a Line>,
    done: &'a Done,
}

impl<'a> Audit<'a> {
    pub(crate) fn new(work_log: &Path, done: &'a Done) -> Self {
        Self { lines: WorkLog::read(work_log).expect("the work log can be read"), done }
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        let jobs = JOBS.into_iter().flat_map(|job| {
            let of_job = self.of(job);
            of_job.violations().into_iter().map(move |why| format!("{job}: {why}")).collect::<Vec<_>>()
        });
        jobs.chain(self.barred()).collect()
    }

    fn of(&self, job: &'static str) -> OfJob<'_> {
        let lines = self.lines.iter().filter(|line| line.job == job).collect();
        OfJob { job, lines, done: self.done }
    }

    fn barred(&self) -> Vec<String> {
        let theirs = self.lines.iter().filter(|line| self.done.barred.contains(&line.process));
        theirs
            .map(|line| format!("{} has started {} with a clock that is far off", line.process, line.slot))
            .collect()
    }
}

impl OfJob<'_> {
    fn violations(&self) -> Vec<String> {
        let checks =
            [self.twice(), self.tokens(), self.missing(), self.history(), self.overlaps(), self.one_shots()];
        checks.into_iter().flatten().collect()
    }

    /// Starts under a token that was valid: no larger one was seen before.
    fn valid(&self) -> impl Iterator<Item = &Line> {
        let mut largest = 0;
        self.lines.iter().copied().filter(move |line| {
            largest = largest.max(line.token);
            line.what == "started" && line.token == largest
        })
    }

    /// One-shot runs have a time, and several may have the same.
    fn twice(&self) -> Vec<String> {
        let mut seen = BTreeMap::new();
        let again = |line: &Line| {
            let run = line.one_shot.clone().unwrap_or_else(|| line.slot.clone());
            let before = seen.insert(run.clone(), line.process)?;
            Some(format!("{run} started by {before} and by {}", line.process))
        };
        self.valid().filter_map(again).collect()
    }

    /// Each start has a token of its own, and they rise. Only who was stopped between its last look at the lock and its line in the
    /// log comes with a smaller one: that is what the token is for.
    fn tokens(&self) -> Vec<String> {
        let mut seen: BTreeMap<u64, &Line> = BTreeMap::new();
        let mut wrong = Vec::new();
        for line in self.lines.iter().copied().filter(|line| line.what == "started") {
            if let Some(before) = seen.get(&line.token) {
                wrong.push(format!(
                    "{} and {} were started under token {}",
                    before.slot, line.slot, line.token
                ));
            }
            let largest = seen.last_key_value().map_or(0, |(token, _)| *token);
            if line.token < largest && !self.done.stopped.contains(&line.process) {
                wrong.push(format!(
                    "{} has started {} under token {} after {largest}, and was never stopped",
                    line.process, line.slot, line.token
                ));
            }
            seen.insert(line.token, line);
        }
        wrong
    }

    /// The grid has no holes, whether its slots were run or have crashed.
    fn missing(&self) -> Vec<String> {
        let (period, least) = match self.job {
            TICK => (Duration::from_millis(self.done.period_ms), self.done.slots),
            CRON => (Duration::from_secs(1), self.done.slots * self.done.period_ms / 2000),
            _ => return Vec::new(),
        };
        let parse = |slot: &String| slot.parse::<UnixTime>().expect("a slot is an instant");
        let run = self.lines.iter().map(|line| parse(&line.slot));
        let known = self.done.history_of(self.job).map(|((_, _, slot), _)| parse(slot));
        let all: Vec<UnixTime> = run.chain(known).collect::<BTreeSet<_>>().into_iter().collect();
        let holes = all.windows(2).filter(|pair| pair[1].since(pair[0]) != period);
        let mut found: Vec<String> =
            holes.map(|pair| format!("nothing between {} and {}", pair[0], pair[1])).collect();
        if (all.len() as u64) < least {
            found.push(format!("only {} slots", all.len()));
        }
        found
    }

    /// What ended in the work log ended well in the history, and what did not has crashed or was lost.
    fn history(&self) -> Vec<String> {
        let ended: BTreeSet<_> =
            self.lines.iter().filter(|l| l.what == "ended").map(|l| (l.token, &l.slot)).collect();
        let mut wrong = Vec::new();
        let mut seen = BTreeSet::new();
        for ((_, token, slot), entry) in self.done.history_of(self.job) {
            if !seen.insert(entry.one_shot.as_ref().unwrap_or(slot)) {
                wrong.push(format!("the history has {slot} twice"));
            }
            if entry.ending == Ending::Ok && !ended.contains(&(*token, slot)) {
                wrong.push(format!(
                    "the history says that {slot} was run under {token}, the work log does not"
                ));
            }
        }
        for line in self.valid() {
            let is_open = self.done.open.get(self.job) == Some(&line.token);
            let key = (self.job.to_owned(), line.token, line.slot.clone());
            if !is_open && !self.done.history.contains_key(&key) {
                wrong.push(format!("the history does not know of {} under {}", line.slot, line.token));
            }
        }
        wrong
    }

    /// A run that ended under a valid token had ended before the next one started.
    fn overlaps(&self) -> Vec<String> {
        let starts: Vec<&Line> = self.valid().collect();
        let end = |start: &Line| {
            let same = |l: &&&Line| l.what == "ended" && l.token == start.token && l.slot == start.slot;
            self.lines.iter().find(same).map(|l| l.at)
        };
        let overlap = |pair: &&[&Line]| end(pair[0]).is_some_and(|end| end > pair[1].at);
        let found = starts.windows(2).filter(overlap);
        found.map(|pair| format!("{} had not ended when {} started", pair[0].slot, pair[1].slot)).collect()
    }

    /// What was added has run, or its run was noticed to have crashed, or it still waits.
    fn one_shots(&self) -> Vec<String> {
        if self.job != ORDERS {
            return Vec::new();
        }
        let in_history = self.done.history_of(ORDERS).filter_map(|(_, entry)| entry.one_shot.as_ref());
        let started = self.valid().filter_map(|line| line.one_shot.as_ref());
        let known: BTreeSet<&String> = in_history.chain(started).chain(&self.done.pending).collect();
        let lost = self.done.added.iter().filter(|id| !known.contains(id));
        lost.map(|id| format!("{id} was added, and never ran")).collect()
    }
}

impl fmt::Display for Audit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for job in JOBS {
            let count = |ending: &str| {
                self.done.history_of(job).filter(|(_, entry)| entry.ending.word() == ending).count()
            };
            write!(
                f,
                "{job}: {} runs ({} ok, {} crashed, {} failed), {} starts in the work log; ",
                self.done.history_of(job).count(),
                count("ok"),
                count("crashed"),
                count("failed"),
                self.of(job).lines.iter().filter(|line| line.what == "started").count(),
            )?;
        }
        write!(
            f,
            "{} one-shot runs added, {} kills, {} stops, {} restarts of the store, seed {}",
            self.done.added.len(),
            self.done.kills,
            self.done.stops,
            self.done.restarts,
            self.done.seed,
        )
    }
}
