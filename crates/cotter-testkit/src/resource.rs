//! The resource behind a lock: a counter that refuses stale holders, and one that does not.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A counter in a file, read and written in two steps, so that two holders at once lose a write.
///
/// One that checks compares tokens at both steps, as any resource behind a fencing token should.
#[derive(Debug)]
pub struct Resource {
    file: Mutex<File>,
    checks: bool,
}

/// The state of the resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct State {
    /// The largest token that it has seen; the last one if it does not check.
    pub token: u64,
    /// Writes that it has accepted.
    pub writes: u64,
    /// The writers' count.
    pub value: u64,
    /// The last reader.
    pub process: u64,
}

impl State {
    /// Writes that were accepted and overwritten by somebody who had not seen them.
    pub fn lost(&self) -> u64 {
        self.writes - self.value
    }

    fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (to, field) in bytes.chunks_exact_mut(8).zip([self.token, self.writes, self.value, self.process])
        {
            to.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; 32]) -> Self {
        let mut fields =
            bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")));
        let mut next = || fields.next().expect("four fields");
        Self { token: next(), writes: next(), value: next(), process: next() }
    }
}

impl Resource {
    /// The counter in this file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path, checks: bool) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        Ok(Self { file: Mutex::new(file), checks })
    }

    /// The first step: what it has been counted to. `None` for a stale holder.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn read(&self, token: u64, process: u64) -> io::Result<Option<u64>> {
        self.update(|state| {
            if self.refuses(state, token) {
                return None;
            }
            (state.token, state.process) = (token, process);
            Some(state.value)
        })
    }

    /// The second step: false for a stale holder.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn write(&self, token: u64, value: u64) -> io::Result<bool> {
        self.update(|state| {
            if self.refuses(state, token) {
                return false;
            }
            (state.token, state.value) = (token, value);
            state.writes += 1;
            true
        })
    }

    /// Its current state.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn state(&self) -> io::Result<State> {
        read_state(&self.file.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn refuses(&self, state: &State, token: u64) -> bool {
        self.checks && token < state.token
    }

    /// One step at a time among all processes. A killed one leaves the old state or the new one.
    fn update<T>(&self, step: impl FnOnce(&mut State) -> T) -> io::Result<T> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        flock(&*file, FlockOperation::LockExclusive)?;
        let mut state = read_state(&file)?;
        let done = step(&mut state);
        let written = file.write_all_at(&state.to_bytes(), 0);
        flock(&*file, FlockOperation::Unlock)?;
        written.map(|()| done)
    }
}

fn read_state(file: &File) -> io::Result<State> {
    let mut bytes = [0; 32];
    let read = file.read_at(&mut bytes, 0)?;
    Ok(if read == bytes.len() { State::from_bytes(&bytes) } else { State::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_at_once(checks: bool) -> State {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counter");
        let (a, b) = (Resource::open(&path, checks).unwrap(), Resource::open(&path, checks).unwrap());
        let seen_a = a.read(7, 1).unwrap().unwrap();
        let seen_b = b.read(8, 2).unwrap().unwrap();
        assert!(b.write(8, seen_b + 1).unwrap());
        assert_eq!(a.write(7, seen_a + 1).unwrap(), !checks);
        a.state().unwrap()
    }

    #[test]
    fn one_that_checks_refuses_the_stale_holder() {
        assert_eq!(two_at_once(true), State { token: 8, writes: 1, value: 1, process: 2 });
    }

    #[test]
    fn one_that_does_not_loses_a_write() {
        assert_eq!(two_at_once(false).lost(), 1);
    }
}
