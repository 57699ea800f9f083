//! Scripts whose first line names no interpreter: a shell runs them, as it does for execvp(3) and everything that uses it.

use rustix::fs::{Access, access};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const SHELL: &str = "/bin/sh";
/// Where programs are without a PATH.
const PATH: &str = "/bin:/usr/bin";
/// A script shows in its beginning that it is text.
const BEGINNING: u64 = 256;

/// The command that runs it, when its program is text.
pub(super) fn by_a_shell(words: &[OsString]) -> Option<Vec<OsString>> {
    let (program, arguments) = words.split_first()?;
    let path = find(program)?;
    is_text(&path)?;
    // Nothing that the shell would take for an option.
    let path = if path.is_absolute() { path } else { Path::new(".").join(path) };
    let words = [SHELL.into(), path.into_os_string()];
    Some(words.into_iter().chain(arguments.iter().cloned()).collect())
}

/// The file that the system tried to execute.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let folders = env::var_os("PATH").unwrap_or_else(|| PATH.into());
    let candidates = env::split_paths(&folders).map(|folder| folder.join(program));
    let mut executable = candidates.filter(|path| path.is_file() && access(path, Access::EXEC_OK).is_ok());
    executable.next()
}

fn is_text(path: &Path) -> Option<()> {
    let mut beginning = Vec::new();
    File::open(path).ok()?.take(BEGINNING).read_to_end(&mut beginning).ok()?;
    (!beginning.contains(&0)).then_some(())
}
