//! How much happened, and whether that is enough.

use crate::clock::nanos;
use crate::history::{Believed, Hold, Wait};

/// What has to happen before a run can pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    /// So often somebody had to wait for another process.
    pub contended: usize,
    /// So many holders were paused for longer than the ttl, or killed.
    pub faults: usize,
}

/// How much happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Locks that were acquired.
    pub acquired: usize,
    /// Those for which somebody had to wait for another process.
    pub contended: usize,
    /// Pauses for longer than the ttl, and those of them that met a holder.
    pub paused: [usize; 2],
    /// Kills, and those of them that met a holder.
    pub killed: [usize; 2],
    /// Losses that were told.
    pub told: usize,
    /// Requests that failed.
    pub failed: usize,
    /// What the last of them said.
    pub failure: Option<String>,
    /// Whether any lock had a token.
    pub has_tokens: bool,
    /// The longest wait, in nanoseconds.
    pub longest_wait: u64,
    /// How long it took, in nanoseconds.
    pub took: u64,
}

impl Figures {
    pub(super) fn of(run: &Believed) -> Self {
        let long = |(_, from, to): &&(u32, u64, u64)| to - from > nanos(run.bounds.ttl);
        let pauses: Vec<_> = run.pauses.iter().filter(long).collect();
        let held = |process: u32, at: u64| {
            // A belief that the fault ended had not ended before.
            run.holds.iter().any(|hold| hold.process == process && hold.got <= at && at <= hold.end)
        };
        Self {
            acquired: run.holds.len(),
            contended: run.waits.iter().filter(|wait| wait.got && was_contended(run, wait)).count(),
            paused: [pauses.len(), pauses.iter().filter(|(who, from, _)| held(*who, *from)).count()],
            killed: [run.kills.len(), run.kills.iter().filter(|(who, at)| held(*who, *at)).count()],
            told: run.told,
            failed: run.failed.len(),
            failure: run.failed.last().cloned(),
            has_tokens: run.bounds.permits == 1 && run.holds.iter().any(|hold| hold.token.is_some()),
            longest_wait: run.waits.iter().map(|wait| wait.to - wait.from).max().unwrap_or_default(),
            took: run.end - run.begin,
        }
    }

    /// Why the run proves nothing, if that is so.
    pub(super) fn lacks(&self, run: &Believed, needed: Needed) -> Vec<String> {
        let mut lacks = Vec::new();
        if self.contended < needed.contended {
            lacks.push(format!(
                "{} waited for another process, {} are needed",
                times(self.contended),
                needed.contended
            ));
        }
        let faults = self.paused[1] + self.killed[1];
        if faults < needed.faults {
            let what = "of a holder were confirmed";
            lacks.push(format!("{faults} pauses and kills {what}, {} are needed", needed.faults));
        }
        let (planned, confirmed) = (run.planned.unwrap_or_default(), self.paused[0] + self.killed[0]);
        if confirmed * 10 < planned * 9 {
            lacks.push(format!("{confirmed} of {planned} planned pauses and kills were confirmed"));
        }
        let undone = run.during.iter().filter(|(.., succeeded)| !succeeded);
        lacks.extend(undone.map(|(_, _, text, _)| format!("`{text}` failed, or did not end")));
        lacks
    }
}

fn times(count: usize) -> String {
    if count == 1 { "once somebody".to_owned() } else { format!("{count} times somebody") }
}

/// Whether other processes held the name, or all of its permits, meanwhile.
fn was_contended(run: &Believed, wait: &Wait) -> bool {
    let upto = run.holds.partition_point(|hold| hold.got <= wait.to);
    let in_the_way = |hold: &&Hold| hold.name == wait.name && hold.process != wait.process;
    let last = run.holds[..upto].iter().rev().take(LOOK_BACK).filter(in_the_way);
    last.filter(|hold| hold.end > wait.from).take(run.bounds.permits).count() == run.bounds.permits
}

/// Holds of one name hardly overlap, so the one in the way is among the last that began.
const LOOK_BACK: usize = 256;
