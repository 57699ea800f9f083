//! The content of a lock file: the counter, and the holder.
//!
//! Lines of `key=value`, so that people can read it. A file that a crash left empty, full of zeros or cut short counts as new: the
//! clock is the floor under its tokens. A file that does not begin with the header was not written by cotter.

use super::errors::{fault, foreign, unusable};
use super::lock::SAFE;
use crate::backend::{Claim, ClaimId, Mode, tokens};
use crate::{Name, Result};
use rustix::fs::{self, OFlags};
use rustix::io::{Errno, pread, pwrite};
use std::fmt::Write;
use std::os::fd::BorrowedFd;
use std::path::Path;

const HEADER: &str = "cotter lock ";
const VERSION: u32 = 1;
const OTHER_VERSION: &str = "was written by another version of cotter; stop every cotter that uses this directory, and start one version";
const END: &str = "end";
/// More than the longest record.
const MAX_RECORD_SIZE: usize = 2048;
/// The longest label that is kept, in bytes.
const MAX_LABEL_SIZE: usize = 512;

/// The content of one lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) name: String,
    /// The largest token that was reserved.
    pub(super) last: u64,
    pub(super) held: bool,
    /// Held by readers; the record is that of the last that came.
    pub(super) shared: bool,
    /// The number of permits, of a semaphore; 0 for a lock.
    pub(super) limit: u32,
    /// The number of permits that the last holder took.
    pub(super) take: u32,
    /// The first token of the holder's block.
    pub(super) first: u64,
    pub(super) claim: Option<ClaimId>,
    pub(super) pid: u32,
    /// Microseconds since 1970.
    pub(super) since: u64,
    pub(super) label: String,
    /// How many bytes the file had.
    size: usize,
}

impl State {
    /// Reserves the next tokens for a claim.
    pub(super) fn grant(&mut self, claim: &Claim, micros: u64) -> u16 {
        (self.take, self.limit) = match claim.mode {
            Mode::Permits { take, of } => (take, of),
            _ => (0, 0),
        };
        self.shared = claim.mode == Mode::Shared;
        // A reader cannot return unused tokens, because another reader may have come since. So it is with permits.
        let wanted = if claim.mode.is_exclusive() { claim.turns } else { 1 };
        let (first, turns) = tokens::reserve(self.last, micros, wanted);
        self.first = first;
        self.last = self.first + u64::from(turns) - 1;
        self.name = claim.name.as_str().to_owned();
        self.held = !claim.mode.is_permits();
        self.claim = Some(claim.id);
        self.pid = std::process::id();
        self.since = micros;
        self.label = one_line(&claim.label);
        turns
    }

    /// Whether the holder has this token.
    pub(super) fn has(&self, token: u64) -> bool {
        (self.first..self.first + u64::from(self.turns())).contains(&token)
    }

    /// The number of tokens of the holder.
    pub(super) fn turns(&self) -> u16 {
        // Tokens after the first belong to others.
        let last = if self.shared || self.limit != 0 { self.first } else { self.last };
        u16::try_from((last + 1).saturating_sub(self.first)).unwrap_or(u16::MAX)
    }

    /// The way in which the name is or was used.
    pub(super) fn mode(&self) -> Mode {
        match self.limit {
            0 if self.shared => Mode::Shared,
            0 => Mode::Exclusive,
            of => Mode::Permits { take: self.take, of },
        }
    }

    /// The same record with another process as the holder.
    pub(super) fn held_by(&self, pid: u32) -> Self {
        Self { pid, ..self.clone() }
    }

    /// Records the release, and returns the tokens that were not used.
    pub(super) fn free(&mut self, used: u16) {
        self.held = false;
        self.last = self.last.min((self.first + u64::from(used)).saturating_sub(1));
    }

    /// Makes it the state of a name that nobody has ever shared or counted, which leaves its next user nothing to clean up.
    /// False where it is one already.
    pub(super) fn end_of_use(&mut self) -> bool {
        let was_used = self.held || self.shared || self.limit != 0;
        (self.held, self.shared, self.limit, self.take) = (false, false, 0, 0);
        was_used
    }

    /// The state of this name; a new one when there is none.
    pub(super) fn of(file: BorrowedFd<'_>, path: &Path, name: &Name) -> Result<Self> {
        match Self::read(file, path)? {
            Some(state) if !state.name.is_empty() && state.name != name.as_str() => {
                Err(foreign(path, &format!("belongs to the lock {:?}", state.name)))
            }
            state => Ok(state.unwrap_or_default()),
        }
    }

    /// Reads the file; `None` when it was never written, or a crash spoiled it.
    pub(super) fn read(file: BorrowedFd<'_>, path: &Path) -> Result<Option<Self>> {
        let mut bytes = [0; MAX_RECORD_SIZE];
        let size = pread(file, &mut bytes, 0).map_err(|e| fault("reading", path, e))?;
        Self::parse(&bytes[..size]).map_err(|why| match why {
            // That one may hold the lock: its file must stay.
            OTHER_VERSION => unusable(path, why),
            _ => foreign(path, why),
        })
    }

    /// Whether cotter wrote this file.
    pub(super) fn is_in(path: &Path) -> bool {
        let Ok(file) = fs::open(path, SAFE | OFlags::RDONLY, fs::Mode::empty()) else { return false };
        let mut start = [0; HEADER.len()];
        pread(&file, &mut start, 0).is_ok_and(|n| n == start.len()) && start == HEADER.as_bytes()
    }

    /// Writes the file in one call, and cuts what is left of a longer record.
    pub(super) fn write(&mut self, file: BorrowedFd<'_>, path: &Path) -> Result<()> {
        let text = self.text();
        let written = pwrite(file, text.as_bytes(), 0).map_err(|e| fault("writing", path, e))?;
        if written < text.len() {
            return Err(fault("writing", path, Errno::NOSPC));
        }
        if self.size > text.len() {
            rustix::fs::ftruncate(file, text.len() as u64).map_err(|e| fault("cutting", path, e))?;
        }
        self.size = text.len();
        Ok(())
    }

    fn text(&self) -> String {
        let mut text = String::with_capacity(self.name.len() + self.label.len() + 192);
        let Self { name, last, first, pid, since, label, .. } = self;
        let state = match (self.held, self.shared) {
            _ if self.limit != 0 => &*format!("semaphore\ntake={}\nlimit={}", self.take, self.limit),
            (false, _) => "free",
            (true, false) => "held",
            (true, true) => "shared",
        };
        let claim = self.claim.map_or_else(String::new, |c| c.to_string());
        // The counter comes first: a record that is cut short may still have it.
        let written = write!(
            text,
            "{HEADER}{VERSION}\nlast={last}\nname={name}\nstate={state}\nfirst={first}\nclaim={claim}\npid={pid}\nsince={since}\nlabel={label}\n{END}\n"
        );
        written.expect("writing to a string does not fail");
        text
    }

    fn parse(bytes: &[u8]) -> Result<Option<Self>, &'static str> {
        let start = &bytes[..bytes.len().min(HEADER.len())];
        if start.iter().all(|b| *b == 0)
            || (bytes.len() < HEADER.len() && HEADER.as_bytes().starts_with(start))
        {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(bytes);
        let Some(body) = text.strip_prefix(HEADER) else { return Err("was not written by cotter") };
        let Some((version, body)) = body.split_once('\n') else { return Ok(None) };
        if version != VERSION.to_string() {
            return Err(OTHER_VERSION);
        }
        Ok(Some(Self { size: bytes.len(), ..Self::fields(body) }))
    }

    /// The fields that can be read. A line without an end was cut short and does not count.
    fn fields(body: &str) -> Self {
        let mut state = Self::default();
        for line in body.split_inclusive('\n') {
            let Some(line) = line.strip_suffix('\n') else { break };
            let Some((key, value)) = line.split_once('=') else { break };
            match key {
                "last" => state.last = value.parse().unwrap_or_default(),
                "name" => state.name = value.to_owned(),
                "state" => {
                    (state.held, state.shared) = (matches!(value, "held" | "shared"), value == "shared")
                }
                "take" => state.take = value.parse().unwrap_or_default(),
                "limit" => state.limit = value.parse().unwrap_or_default(),
                "first" => state.first = value.parse().unwrap_or_default(),
                "claim" => state.claim = ClaimId::parse(value),
                "pid" => state.pid = value.parse().unwrap_or_default(),
                "since" => state.since = value.parse().unwrap_or_default(),
                "label" => state.label = value.to_owned(),
                _ => {}
            }
        }
        state
    }
}

fn one_line(label: &str) -> String {
    let fits = |(at, c): &(usize, char)| at + c.len_utf8() <= MAX_LABEL_SIZE;
    let printable = |(_, c): (usize, char)| if c.is_control() { ' ' } else { c };
    label.char_indices().take_while(fits).map(printable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn claim(turns: u16) -> Claim {
        let (name, label) = (Name::new("a=b\u{2028}c").unwrap(), "one\nlabel=two\nend".into());
        Claim { turns, label, ..Claim::new(name, Mode::Exclusive, Duration::ZERO) }
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let mut state = State::default();
        state.grant(&claim(3), 1_760_000_000_000_000);
        let text = state.text();
        let read = State::parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(read, State { size: text.len(), ..state });
        assert_eq!(read.label, "one label=two end");
    }

    #[test]
    fn what_is_left_of_a_longer_one_does_not_count() {
        let text = format!("{}name=older\nlast=99999\n", "cotter lock 1\nlast=7\nname=a\nend\n");
        let read = State::parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!((read.last, read.name.as_str()), (7, "a"));
    }

    #[test]
    fn a_cut_counter_does_not_count() {
        let read = State::parse(b"cotter lock 1\nlast=123").unwrap().unwrap();
        assert_eq!(read.last, 0);
    }

    #[test]
    fn tokens_are_never_below_the_clock_nor_ahead_of_it() {
        let mut state = State::default();
        assert_eq!((state.grant(&claim(4), 1000), state.first, state.last), (4, 1000, 1003));
        state.free(1);
        assert_eq!(state.last, 1000);
        assert_eq!((state.grant(&claim(9), 1002), state.first, state.last), (2, 1002, 1003));
        state.free(2);
        assert_eq!((state.grant(&claim(9), 500), state.first, state.last), (1, 1004, 1004));
        state.free(0);
        assert_eq!(state.last, 1003);
    }

    #[test]
    fn other_versions_and_other_files_are_foreign() {
        for foreign in ["cotter lock 2\n", "cotter lock x\n", "hello", "cotter note 1 ", "{}"] {
            assert!(State::parse(foreign.as_bytes()).is_err(), "{foreign}");
        }
        for spoiled in ["", "\0\0\0\0", "cot", "cotter lock 1", "cotter lock "] {
            assert_eq!(State::parse(spoiled.as_bytes()), Ok(None), "{spoiled}");
        }
    }
}
