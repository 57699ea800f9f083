//! The file of a ticket: a named pipe. Its end wakes the waiter behind it, and a byte in it is a question to its owner.

use rustix::fs::{FileType, Mode, Stat};
use rustix::io::{Errno, Result, ioctl_fionread};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::unix::pipe;

/// How long a waiter may rely on being woken: a little longer than a process may take to answer a question.
pub(crate) const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// Makes the file.
pub(crate) fn create(path: &Path, mode: Mode) -> Result<()> {
    let mode = nix::sys::stat::Mode::from_bits_truncate(mode.as_raw_mode());
    nix::unistd::mkfifo(path, mode).map_err(|e| Errno::from_raw_os_error(e as i32))
}

/// Keeps it small: the memory that a user may have for pipes is for others, too.
pub(crate) fn shrink(file: impl AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(file, 4096);
}

/// Whether a file can be a ticket.
pub(crate) fn is_one(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Fifo
}

/// Whether a question waits in it.
pub(crate) fn is_asked(file: impl AsFd) -> bool {
    ioctl_fionread(file).is_ok_and(|bytes| bytes > 0)
}

/// Wakes a task when something happens to a ticket.
#[derive(Debug, Clone)]
pub(crate) struct Listener(Arc<pipe::Receiver>);

impl Listener {
    /// To be called in the runtime that will wait.
    pub(crate) fn new(file: OwnedFd) -> std::io::Result<Self> {
        pipe::Receiver::from_owned_fd_unchecked(file).map(Arc::new).map(Self)
    }

    /// Completes when a question is there, or the ticket has ended.
    pub(crate) async fn heard(self) {
        let _ = self.0.readable().await;
    }

    /// Takes all questions out.
    pub(crate) fn answer(&self) {
        let mut questions = [0; 64];
        while self.0.try_read(&mut questions).is_ok_and(|n| n > 0) {}
    }

    /// Waits for what comes from now on.
    pub(crate) fn forget(&self) {
        let heard = || Err::<(), _>(std::io::ErrorKind::WouldBlock.into());
        let _ = self.0.try_io(heard);
    }
}
