//! Settings of a job that are allowed but probably a mistake: warnings, because they may be intended, or differ on another host.

use super::job::Spec;
use cotter_console::clean;
use cotter_scheduler::{Cron, Misfire, UnixTime};
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

/// The defaults of the scheduler.
const LATE_WITHIN: Duration = Duration::from_secs(60);
const MISFIRE_WINDOW: Duration = Duration::from_secs(24 * 3600);
/// So many of the next slots are looked at.
const SLOTS: usize = 100;

impl Spec {
    /// Everything that is doubtful about the job, each on one line.
    pub(in crate::schedule) fn doubts(&self, now: UnixTime) -> Vec<String> {
        let all = [
            self.never_runs(now),
            self.no_program(),
            self.no_directory(),
            self.forgets_before_late(),
            self.jitter_beyond_next(now),
        ];
        all.into_iter()
            .flatten()
            .chain(self.numbers_of_days())
            .map(|doubt| format!("job {:?}: {doubt}", self.name))
            .collect()
    }

    /// In the Quartz dialect 1 is Sunday; who writes 1-5 comes from a crontab as often as not.
    fn numbers_of_days(&self) -> impl Iterator<Item = String> {
        let doubt = |(key, text): &(&str, String)| Some(format!("`{key}`: {}", Cron::doubt(text)?));
        self.expressions.iter().filter_map(doubt)
    }

    /// A cron expression or an instant that lies in the past for good.
    fn never_runs(&self, now: UnixTime) -> Option<String> {
        if !self.enabled || !self.trigger.is_planned() {
            return None;
        }
        let window = self.settings.misfire_window.unwrap_or(MISFIRE_WINDOW);
        let late = match self.settings.misfire.unwrap_or_default() {
            Misfire::Skip => self.settings.late_within.unwrap_or(LATE_WITHIN).min(window),
            _ => window,
        };
        match self.trigger.next_after(now - late) {
            Some(_) => None,
            None if self.trigger.has_ended(now - late) => {
                Some(format!("{} will never run again", self.trigger))
            }
            None => Some(format!("{} has no slot behind a million runs of excluded ones", self.trigger)),
        }
    }

    fn no_program(&self) -> Option<String> {
        let program = self.words.first()?;
        let path = Path::new(program);
        let is_found = if path.components().count() > 1 {
            let directory = self.cwd.as_deref().unwrap_or(Path::new(""));
            // Without a directory of its own it depends on where cotter is started.
            path.is_relative() && self.cwd.is_none() || directory.join(path).is_file()
        } else {
            let path = self.env.iter().find(|(key, _)| key == "PATH").map(|(_, value)| value.into());
            let path = path.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
            std::env::split_paths(OsStr::new(&path)).any(|directory| directory.join(program).is_file())
        };
        (!is_found).then(|| format!("the program {:?} was not found on this host", clean(program)))
    }

    fn no_directory(&self) -> Option<String> {
        let directory = self.cwd.as_deref().filter(|directory| !directory.is_dir())?;
        Some(format!("`cwd`: {:?} is not a directory on this host", clean(&directory.to_string_lossy())))
    }

    fn forgets_before_late(&self) -> Option<String> {
        let late = self.settings.late_within.unwrap_or(LATE_WITHIN);
        let window = self.settings.misfire_window.filter(|window| *window < late)?;
        Some(format!(
            "`misfire_window` of {window:?} is shorter than `late_within` of {late:?}, which has no effect"
        ))
    }

    /// All slots are delayed by the same amount, so their order stays; but each may start when the next one is due already.
    fn jitter_beyond_next(&self, now: UnixTime) -> Option<String> {
        let jitter = self.settings.jitter.filter(|_| self.enabled)?;
        let period = self.shortest_period(now).filter(|period| *period < jitter)?;
        Some(format!("`jitter` of {jitter:?} is longer than the time between two slots, {period:?}"))
    }

    /// The shortest time between two of the next slots.
    fn shortest_period(&self, now: UnixTime) -> Option<Duration> {
        if let Some(period) = self.trigger.period() {
            return Some(period);
        }
        let next = |at: &UnixTime| self.trigger.next_after(*at);
        let slots: Vec<_> = std::iter::successors(next(&now), next).take(SLOTS).collect();
        slots.windows(2).map(|pair| pair[1].since(pair[0])).min()
    }
}
