//! Errors of the system as errors of cotter.

use crate::{Error, ErrorKind};
use rustix::io::Errno;
use std::path::Path;

/// An error of the system while `doing` something to `path`, with what to do about it. None of these goes away by itself,
/// so they are not retryable.
pub(super) fn fault(doing: &str, path: &Path, errno: Errno) -> Error {
    let (kind, advice) = match errno {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => {
            (ErrorKind::Unavailable, "; make room there, or choose another directory with file:///DIR")
        }
        Errno::MFILE | Errno::NFILE => (ErrorKind::Unavailable, "; allow more open files (ulimit -n)"),
        Errno::NOENT | Errno::NOTDIR => {
            (ErrorKind::Unavailable, "; the directory no longer exists; create it again")
        }
        Errno::ACCESS | Errno::PERM | Errno::ROFS => {
            (ErrorKind::Denied, "; let this user write there, or choose another directory with file:///DIR")
        }
        Errno::LOOP | Errno::ISDIR | Errno::NXIO => {
            (ErrorKind::ForeignKey, "; something else is at that path; move it away")
        }
        _ => (ErrorKind::Unavailable, ""),
    };
    let why = format!("{doing} {} failed: {}{advice}", path.display(), words(errno));
    Error::new(kind, why)
        .with_source(std::io::Error::from(errno))
        .with_backend(super::SCHEME)
        .with_retryable(false)
}

/// The error number behind an error of the standard library.
pub(super) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The message for an error number, without the number that the standard library adds.
pub(super) fn words(errno: Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// The path belongs to something that is not cotter's.
pub(super) fn foreign(path: &Path, why: &str) -> Error {
    unusable(path, &format!("{why}; move it away"))
}

/// The path has something that this version cannot use. Says what to do.
pub(super) fn unusable(path: &Path, why: &str) -> Error {
    let why = format!("{} {why}", path.display());
    Error::new(ErrorKind::ForeignKey, why).with_backend(super::SCHEME)
}
