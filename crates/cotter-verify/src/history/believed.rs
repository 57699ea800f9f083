//! A run, made of events.

use super::track::State;
use super::{Bounds, End, Event, Hold, Mistake, Wait, What};
use std::collections::BTreeMap;

/// A run: who believed to hold what from when to when, who waited, and what was done to them.
#[derive(Debug, Clone, Default)]
pub struct Believed {
    /// Of the run.
    pub bounds: Bounds,
    /// In the order in which they began.
    pub holds: Vec<Hold>,
    /// In the order in which they began.
    pub waits: Vec<Wait>,
    /// Pauses: of which process, from when to when.
    pub pauses: Vec<(u32, u64, u64)>,
    /// Kills: of which process, and when.
    pub kills: Vec<(u32, u64)>,
    /// The lives of processes: which, from when to when.
    pub lives: Vec<(u32, u64, u64)>,
    /// What the operator did meanwhile: from when to when, what, and whether it succeeded.
    pub during: Vec<(u64, u64, String, bool)>,
    /// What the store had at the end: when, of which name, and what.
    pub left: Vec<(u64, String, String)>,
    /// How many losses were told, and how many requests failed.
    pub told: usize,
    /// Requests that failed.
    pub failed: Vec<String>,
    /// How many faults were planned, where that is known.
    pub planned: Option<usize>,
    /// When it began.
    pub begin: u64,
    /// When it was over.
    pub end: u64,
}

impl Believed {
    /// Puts the events together: in the order of their times, with the numbers of their lines.
    ///
    /// # Errors
    /// The first event that cannot follow those before it.
    pub fn of(events: &[(usize, Event)]) -> Result<Self, Mistake> {
        let mut run = Self {
            begin: events.first().map_or(0, |(_, event)| event.at),
            end: events.last().map_or(0, |(_, event)| event.at),
            ..Self::default()
        };
        let mut states = BTreeMap::<u32, State>::new();
        for (line, event) in events {
            if event.process == 0 {
                run.happen(event);
                continue;
            }
            let state = states.entry(event.process).or_default();
            if let Some(text) = state.refuses(event) {
                return Err(Mistake { line: *line, text });
            }
            *state = run.take(*state, event);
        }
        run.holds.sort_by_key(|hold| hold.got);
        Ok(run)
    }

    /// The names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.waits.iter().map(|wait| &*wait.name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// For how long a process was paused between two times.
    #[must_use]
    pub fn paused(&self, process: u32, from: u64, to: u64) -> u64 {
        let within = |&(who, begin, end): &(u32, u64, u64)| {
            if who == process { end.min(to).saturating_sub(begin.max(from)) } else { 0 }
        };
        self.pauses.iter().map(within).sum()
    }

    /// An event of the run itself.
    fn happen(&mut self, event: &Event) {
        match &event.what {
            What::Run(bounds) => self.bounds = *bounds,
            What::During { text } => self.during.push((event.at, self.end, text.clone(), false)),
            What::DuringEnded { succeeded } => {
                if let Some(last) = self.during.last_mut() {
                    (last.1, last.3) = (event.at, *succeeded);
                }
            }
            What::Left { name, text } => self.left.push((event.at, name.clone(), text.clone())),
            What::Done { planned } => self.planned = Some(*planned),
            _ => {}
        }
    }

    /// An event of a process in this state; returns its next state.
    fn take(&mut self, state: State, event: &Event) -> State {
        let Event { at, process, .. } = *event;
        self.live(event);
        match &event.what {
            What::Asked { name } => {
                self.waits.push(Wait { name: name.clone(), process, from: at, to: self.end, got: false });
                State::Waiting(self.waits.len() - 1)
            }
            What::Acquired { token, until } => self.acquired(state, at, *token, *until),
            What::Renewed { until } => {
                if let State::Holding(hold) = state {
                    let hold = &mut self.holds[hold];
                    // Who told no deadline before does so now.
                    let end = if hold.by == End::Open { *until } else { hold.end.max(*until) };
                    (hold.end, hold.by) = (end, End::Deadline);
                }
                state
            }
            What::Lost { until } => {
                self.told += usize::from(matches!(state, State::Holding(_)));
                self.end_hold(state, until.unwrap_or(at).min(at), End::Lost);
                if matches!(state, State::Holding(_)) { State::Lost } else { state }
            }
            What::Releasing => {
                self.end_hold(state, at, End::Released);
                State::Releasing
            }
            What::Released => State::Idle,
            What::Failed { text } => {
                self.failed.push(text.clone());
                self.end_wait(state, at);
                State::Idle
            }
            What::Killed | What::Ended => {
                self.end_hold(state, at, End::Died);
                self.end_wait(state, at);
                State::Dead
            }
            What::Started => State::Idle,
            _ => state,
        }
    }

    fn acquired(&mut self, state: State, at: u64, token: Option<u64>, until: Option<u64>) -> State {
        let State::Waiting(wait) = state else { return state };
        let wait = &mut self.waits[wait];
        (wait.to, wait.got) = (at, true);
        let (name, process) = (wait.name.clone(), wait.process);
        let (end, by) = until.map_or((u64::MAX, End::Open), |until| (until, End::Deadline));
        self.holds.push(Hold { name, process, token, got: at, end, by });
        State::Holding(self.holds.len() - 1)
    }

    fn end_hold(&mut self, state: State, at: u64, by: End) {
        let State::Holding(hold) = state else { return };
        let hold = &mut self.holds[hold];
        if at < hold.end {
            (hold.end, hold.by) = (at, by);
        }
    }

    fn end_wait(&mut self, state: State, at: u64) {
        if let State::Waiting(wait) = state {
            self.waits[wait].to = at;
        }
    }

    /// What an event says about whether a process can run.
    fn live(&mut self, event: &Event) {
        let Event { at, process, .. } = *event;
        match event.what {
            What::Paused => self.pauses.push((process, at, self.end)),
            What::Killed => self.kills.push((process, at)),
            What::Started => self.lives.push((process, at, self.end)),
            _ => {}
        }
        let ended = matches!(event.what, What::Killed | What::Ended);
        if ended || event.what == What::Continued {
            self.pauses.iter_mut().filter(|pause| pause.0 == process && pause.2 > at).for_each(|p| p.2 = at);
        }
        if ended {
            self.lives.iter_mut().filter(|life| life.0 == process && life.2 > at).for_each(|l| l.2 = at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn run(text: &str) -> Result<Believed, Mistake> {
        let line = |text: &str| {
            let (at, rest) = text.trim().split_once(' ').unwrap();
            let mut words = rest.split(' ');
            let (process, event, rest) =
                (words.next().unwrap(), words.next().unwrap(), words.next().unwrap_or(""));
            format!(r#"{{"at_ns":{at},"process":{process},"event":"{event}"{rest}}}"#)
        };
        let lines: Vec<_> = text.split(';').map(line).collect();
        read(&lines.join("\n")).and_then(|events| Believed::of(&events))
    }

    fn ends(text: &str) -> Vec<(u64, End)> {
        run(text).unwrap().holds.iter().map(|hold| (hold.end, hold.by)).collect()
    }

    #[test]
    fn a_belief_ends_with_the_first_that_ends_it() {
        let held = r#"1 1 asked ,"name":"a"; 2 1 acquired ,"until_ns":50"#;
        assert_eq!(ends(&format!("{held}; 90 1 lost")), [(50, End::Deadline)]);
        assert_eq!(ends(&format!("{held}; 40 1 lost")), [(40, End::Lost)]);
        assert_eq!(ends(&format!(r#"{held}; 40 1 lost ,"until_ns":30"#)), [(30, End::Lost)]);
        assert_eq!(ends(&format!("{held}; 20 1 releasing; 60 1 released")), [(20, End::Released)]);
        assert_eq!(
            ends(&format!(r#"{held}; 20 1 renewed ,"until_ns":80; 90 1 killed"#)),
            [(80, End::Deadline)]
        );
        assert_eq!(ends(&format!(r#"{held}; 20 1 renewed ,"until_ns":80; 60 1 killed"#)), [(60, End::Died)]);
        assert_eq!(ends(r#"1 1 asked ,"name":"a"; 2 1 acquired"#), [(u64::MAX, End::Open)]);
        let late = r#"1 1 asked ,"name":"a"; 2 1 acquired; 3 1 renewed ,"until_ns":50; 90 1 lost"#;
        assert_eq!(ends(late), [(50, End::Deadline)]);
    }

    #[test]
    fn what_cannot_follow_is_a_mistake_of_its_line() {
        for (text, line, says) in [
            ("1 1 acquired", 1, "has asked for nothing"),
            (r#"1 1 asked ,"name":"a"; 2 1 asked ,"name":"a""#, 2, "has no answer"),
            (r#"1 1 asked ,"name":"a"; 2 1 acquired; 3 1 released"#, 3, "holds a lock"),
            (r#"1 1 started; 2 1 killed; 3 1 asked ,"name":"a""#, 3, "is not running"),
        ] {
            let mistake = run(text).unwrap_err();
            assert!(mistake.line == line && mistake.text.contains(says), "{text}: {mistake}");
        }
    }

    #[test]
    fn a_pause_ends_when_it_goes_on_or_dies() {
        let run =
            run("1 1 started; 5 1 paused; 9 1 continued; 11 1 paused; 20 1 killed; 30 2 started").unwrap();
        assert_eq!((run.pauses, run.lives), (vec![(1, 5, 9), (1, 11, 20)], vec![(1, 1, 20), (2, 30, 30)]));
    }
}
