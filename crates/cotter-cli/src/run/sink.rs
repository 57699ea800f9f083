//! Where a report is written to. Only a regular file is ever replaced.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, ftruncate, open, stat};
use rustix::io::{Errno, write};
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write, stderr, stdout};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Standard output, as other programs take it.
const STANDARD_OUTPUT: &str = "-";
/// So often the file may be replaced by others between two looks at it.
const ROUNDS: usize = 20;
/// More links than the kernel follows.
const LINKS: usize = 40;
/// How long a pipe, a terminal or a device may take to accept the report: its reader may be gone for good.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Writes a report: a regular file appears at once and whole, anything else is opened and written to.
pub(super) fn write_to(path: &Path, text: &str) -> io::Result<()> {
    match standard_stream(path) {
        Some(1) => return stdout().lock().write_all(text.as_bytes()).and_then(|()| stdout().flush()),
        Some(2) => return stderr().lock().write_all(text.as_bytes()),
        _ => {}
    }
    for _ in 0..ROUNDS {
        let done = match opened(path, OFlags::empty()) {
            Ok(file) if is_regular(&file)? => replace(path, &file, text)?,
            Ok(other) => return pass_on(other.as_fd(), text.as_bytes()),
            Err(Errno::NOENT) if path.is_symlink() => {
                fill(&opened(path, OFlags::CREATE)?, text).map(|()| true)?
            }
            Err(Errno::NOENT) => create(path, text)?,
            Err(Errno::NXIO) => return Err(io::Error::other("nobody reads from it")),
            Err(e) => return Err(e.into()),
        };
        if done {
            return Ok(());
        }
    }
    Err(io::Error::other("it is replaced again and again"))
}

/// Whether this means a stream of our own, which has a position that a file opened anew would not have.
fn standard_stream(path: &Path) -> Option<i32> {
    if path == Path::new(STANDARD_OUTPUT) {
        return Some(1);
    }
    let own = fs::canonicalize("/proc/self/fd").ok()?;
    let mut path = PathBuf::from(path);
    for _ in 0..LINKS {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).ok()?;
        if folder == own {
            return path.file_name()?.to_str()?.parse().ok();
        }
        path = folder.join(fs::read_link(&path).ok()?);
    }
    None
}

/// A pipe that nobody reads from is no reason to wait for ever, nor is a terminal to become ours.
fn opened(path: &Path, more: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    open(path, flags, Mode::from_raw_mode(0o666))
}

fn is_regular(file: &OwnedFd) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::RegularFile)
}

/// Written beside and renamed, so that nobody reads half of it. False when something else stands there by now.
fn replace(path: &Path, file: &OwnedFd, text: &str) -> io::Result<bool> {
    let found = fstat(file)?;
    // A descriptor of ours that leads to a file: what stands in it stays.
    if standard_stream(path).is_some() {
        return append(path, text).map(|()| true);
    }
    let Ok(target) = fs::canonicalize(path) else { return Ok(false) };
    if !stat(&target).is_ok_and(|now| (now.st_dev, now.st_ino) == (found.st_dev, found.st_ino)) {
        return Ok(false);
    }
    let permissions = Permissions::from_mode(found.st_mode & 0o777);
    let written = beside(&target, text, |new| {
        new.as_file().set_permissions(permissions)?;
        new.persist(&target).map(drop).map_err(|e| e.error)
    });
    // A folder that is not ours to write to, or a file that is mounted there.
    written.or_else(|_| fill(file, text)).map(|()| true)
}

/// False when something stands there by now.
fn create(path: &Path, text: &str) -> io::Result<bool> {
    match beside(path, text, |new| new.persist_noclobber(path).map(drop).map_err(|e| e.error)) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e),
    }
}

/// Under a name that nobody else has; it is gone when `keep` fails.
fn beside(
    path: &Path,
    text: &str,
    keep: impl FnOnce(tempfile::NamedTempFile) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut name = tempfile::Builder::new();
    let mut new =
        name.prefix(".cotter-report-").permissions(Permissions::from_mode(0o666)).tempfile_in(folder)?;
    new.write_all(text.as_bytes())?;
    keep(new)
}

fn fill(file: &OwnedFd, text: &str) -> io::Result<()> {
    ftruncate(file, 0)?;
    pass_on(file.as_fd(), text.as_bytes())
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    pass_on(opened(path, OFlags::APPEND)?.as_fd(), text.as_bytes())
}

fn pass_on(file: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(file, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let ready = poll(&mut [PollFd::new(&file, PollFlags::OUT)], Some(&PATIENCE));
                if ready == Ok(0) {
                    return Err(io::Error::other("nobody reads from it"));
                }
            }
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}
