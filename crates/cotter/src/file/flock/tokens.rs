//! The counter of the tokens, one for each locked file. Only its holder touches it.

use super::backend::error;
use crate::Result;
use crate::file::directory::Directory;
use crate::file::lock::FileId;
use rustix::fs::{OFlags, open};
use rustix::io::{pread, pwrite};

/// Reserves `turns` tokens, or fewer where the clock is too close; answers the first and how many.
///
/// The clock is the floor, as everywhere: nothing has to reach the disk.
pub(super) fn reserve(directory: &Directory, file: FileId, turns: u16, clock: u64) -> Result<(u64, u16)> {
    let path = directory.path.join(format!("flock-{:x}-{:x}.token", file.dev, file.ino));
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let fd = open(&path, flags, directory.access.file).map_err(|e| error("opening", &path, e))?;
    let mut bytes = [0; 20];
    let n = pread(&fd, &mut bytes, 0).map_err(|e| error("reading", &path, e))?;
    let last: u64 = std::str::from_utf8(&bytes[..n]).ok().and_then(|t| t.trim().parse().ok()).unwrap_or(0);
    let first = clock.max(last + 1);
    let turns = u16::try_from(clock.saturating_sub(last).clamp(1, u64::from(turns.max(1)))).unwrap_or(1);
    let text = format!("{:020}", first + u64::from(turns) - 1);
    pwrite(&fd, text.as_bytes(), 0).map_err(|e| error("writing", &path, e))?;
    Ok((first, turns))
}
