//! Writing a report to a file or pipe. Only regular files are replaced.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, ftruncate, open, stat};
use rustix::io::{Errno, write};
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write, stderr, stdout};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The conventional name of standard output.
const STANDARD_OUTPUT: &str = "-";
/// How often to retry if the file is replaced by others at the same time.
const MAX_ATTEMPTS: usize = 20;
/// The number of symbolic links that the kernel follows.
const MAX_LINKS: usize = 40;
/// The timeout for a pipe, terminal or device to accept the report: its reader may never read.
const WRITE_TIMEOUT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Writes a report: a regular file is replaced atomically, anything else is opened and written to.
pub(super) fn write_to(path: &Path, text: &str) -> io::Result<()> {
    match standard_stream(path) {
        Some(1) => return stdout().lock().write_all(text.as_bytes()).and_then(|()| stdout().flush()),
        Some(2) => return stderr().lock().write_all(text.as_bytes()),
        _ => {}
    }
    for _ in 0..MAX_ATTEMPTS {
        let done = match open_for_writing(path, OFlags::empty()) {
            Ok(file) if is_regular(&file)? => replace(path, &file, text)?,
            Ok(other) => return write_all(other.as_fd(), text.as_bytes()),
            Err(Errno::NOENT) if path.is_symlink() => {
                fill(&open_for_writing(path, OFlags::CREATE)?, text).map(|()| true)?
            }
            Err(Errno::NOENT) => create(path, text)?,
            Err(Errno::NXIO) => return Err(io::Error::other("nobody reads from it")),
            Err(e) => return Err(e.into()),
        };
        if done {
            return Ok(());
        }
    }
    Err(io::Error::other("it keeps being replaced"))
}

/// The number of the standard stream that this path refers to. Such a stream must not be opened again, because it has a
/// position.
fn standard_stream(path: &Path) -> Option<i32> {
    if path == Path::new(STANDARD_OUTPUT) {
        return Some(1);
    }
    let own = fs::canonicalize("/proc/self/fd").ok()?;
    let mut path = PathBuf::from(path);
    for _ in 0..MAX_LINKS {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).ok()?;
        if folder == own {
            return path.file_name()?.to_str()?.parse().ok();
        }
        path = folder.join(fs::read_link(&path).ok()?);
    }
    None
}

/// Opens without waiting for the reader of a pipe, and without acquiring a controlling terminal.
fn open_for_writing(path: &Path, more: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    open(path, flags, Mode::from_raw_mode(0o666))
}

fn is_regular(file: &OwnedFd) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::RegularFile)
}

/// Writes a temporary file and renames it, so that readers never see half of it. Returns false if the path refers to another
/// file by now.
fn replace(path: &Path, file: &OwnedFd, text: &str) -> io::Result<bool> {
    let found = fstat(file)?;
    // A file that is open as a descriptor of this process: append to it.
    if standard_stream(path).is_some() {
        return append(path, text).map(|()| true);
    }
    let Ok(target) = fs::canonicalize(path) else { return Ok(false) };
    if !stat(&target).is_ok_and(|now| (now.st_dev, now.st_ino) == (found.st_dev, found.st_ino)) {
        return Ok(false);
    }
    let permissions = Permissions::from_mode(found.st_mode & 0o777);
    let written = write_temporary(&target, text, |new| {
        new.as_file().set_permissions(permissions)?;
        new.persist(&target).map(drop).map_err(|e| e.error)
    });
    // The directory may not be writable, or the file may be a mount point.
    written.or_else(|_| fill(file, text)).map(|()| true)
}

/// Creates the file; returns false if one exists by now.
fn create(path: &Path, text: &str) -> io::Result<bool> {
    match write_temporary(path, text, |new| new.persist_noclobber(path).map(drop).map_err(|e| e.error)) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e),
    }
}

/// Writes a temporary file in the same directory; it is removed if `keep` fails.
fn write_temporary(
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
    write_all(file.as_fd(), text.as_bytes())
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    write_all(open_for_writing(path, OFlags::APPEND)?.as_fd(), text.as_bytes())
}

fn write_all(file: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(file, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let ready = poll(&mut [PollFd::new(&file, PollFlags::OUT)], Some(&WRITE_TIMEOUT));
                if ready == Ok(0) {
                    return Err(io::Error::other("nobody reads from it"));
                }
            }
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}
