//! The counter of the tokens, one for each locked file. Only the holder of the lock uses it.

use super::error;
use crate::Result;
use crate::backend::tokens;
use crate::stores::file::directory::Directory;
use crate::stores::file::lock::SAFE;
use crate::sys::FileId;
use rustix::fs::{Mode, OFlags, open, stat, unlink};
use rustix::io::{Errno, pread, pwrite};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

const DIGITS: usize = 20;
/// More than a counter and a path.
const MAX_FILE_SIZE: usize = 4200;

/// Reserves `turns` tokens, or fewer where the clock is too close; answers the first and how many.
///
/// The clock is the floor, as everywhere: nothing has to reach the disk. Where there is no counter it is all there is.
pub(super) fn reserve(
    counters: Option<&Directory>,
    lock: (FileId, &Path),
    turns: u16,
    clock: u64,
) -> Result<(u64, u16)> {
    let Some(directory) = counters else { return Ok((clock, 1)) };
    let path = directory.path.join(file_name(lock.0));
    let fd = counter(directory, &path, lock.1)?;
    let mut bytes = [0; DIGITS];
    let n = pread(&fd, &mut bytes, 0).map_err(|e| error("reading", &path, e))?;
    let last: u64 = std::str::from_utf8(&bytes[..n]).ok().and_then(|t| t.trim().parse().ok()).unwrap_or(0);
    let (first, turns) = tokens::reserve(last, clock, turns);
    let text = format!("{:020}", first + u64::from(turns) - 1);
    let written = pwrite(&fd, text.as_bytes(), 0).map_err(|e| error("writing", &path, e))?;
    if written < text.len() {
        return Err(error("writing", &path, Errno::NOSPC));
    }
    Ok((first, turns))
}

fn file_name(file: FileId) -> String {
    format!("flock-{:x}-{:x}.token", file.dev, file.ino)
}

/// Opens the file of the counter. A new one contains the path of its lock, so that it can be removed with that.
fn counter(directory: &Directory, path: &Path, lock: &Path) -> Result<OwnedFd> {
    match open(path, SAFE | OFlags::RDWR, Mode::empty()) {
        Err(Errno::NOENT) => {}
        other => return other.map_err(|e| error("opening", path, e)),
    }
    sweep(&directory.path);
    let fd = directory.access.open(path, SAFE | OFlags::RDWR).map_err(|e| error("opening", path, e))?;
    let text = [&[b'0'; DIGITS][..], b"\n", lock.as_os_str().as_encoded_bytes(), b"\n"].concat();
    pwrite(&fd, &text, 0).map_err(|e| error("writing", path, e))?;
    Ok(fd)
}

/// Removes the counters of files that are not at their paths any more.
fn sweep(directory: &Path) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|n| n.starts_with("flock-") && n.ends_with(".token")) else {
            continue;
        };
        let Some(lock) = lock_of(&entry.path()) else { continue };
        let is_linked = match stat(&lock) {
            Ok(found) => file_name(FileId::of(&found)) == name,
            Err(e) => e != Errno::NOENT,
        };
        if !is_linked {
            let _ = unlink(entry.path());
        }
    }
}

/// The file that a counter belongs to.
fn lock_of(counter: &Path) -> Option<PathBuf> {
    let fd = open(counter, SAFE | OFlags::RDONLY, Mode::empty()).ok()?;
    let mut bytes = vec![0; MAX_FILE_SIZE];
    let n = pread(&fd, &mut bytes, 0).ok()?;
    let text = std::str::from_utf8(&bytes[..n]).ok()?;
    let path = text.split_once('\n')?.1.strip_suffix('\n')?;
    path.starts_with('/').then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::file::directory::Where;
    use crate::sys::filesystem;

    fn id(path: &Path) -> FileId {
        FileId::of(&stat(path).unwrap())
    }

    #[test]
    fn counters_of_files_that_have_gone_are_swept() {
        let place = tempfile::tempdir().unwrap();
        let counters =
            Directory::open(&Where::At(place.path().join("counters")), None, filesystem::of).unwrap();
        let paths = ["stays", "goes", "is replaced"].map(|name| place.path().join(name));
        for path in &paths {
            std::fs::write(path, "").unwrap();
            let (first, _) = reserve(Some(&counters), (id(path), path), 1, 5).unwrap();
            let (second, _) = reserve(Some(&counters), (id(path), path), 1, 5).unwrap();
            assert!((first, second) == (5, 6));
        }
        let files = paths.clone().map(|path| counters.path.join(file_name(id(&path))));
        // Their numbers stay taken, or a new file might get them.
        std::fs::rename(&paths[1], place.path().join("away")).unwrap();
        std::fs::rename(&paths[2], place.path().join("elsewhere")).unwrap();
        std::fs::write(&paths[2], "").unwrap();
        let path = &paths[2];
        assert_eq!(reserve(Some(&counters), (id(path), path), 1, 7).unwrap(), (7, 1));
        assert_eq!(files.map(|file| file.exists()), [true, false, false]);
        assert_eq!(reserve(Some(&counters), (id(&paths[0]), &paths[0]), 9, 5).unwrap(), (7, 1));
    }

    #[test]
    fn without_a_counter_the_clock_alone_gives_tokens() {
        let place = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(reserve(None, (id(place.path()), place.path()), 9, 1234).unwrap(), (1234, 1));
    }
}
