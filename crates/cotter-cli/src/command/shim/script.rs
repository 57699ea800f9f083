//! Scripts without an interpreter line: they are run by a shell, as by execvp(3) and everything that uses it.

use rustix::fs::{Access, access};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const SHELL: &str = "/bin/sh";
/// The default search path.
const PATH: &str = "/bin:/usr/bin";
/// The length of the beginning that is checked for text.
const BEGINNING: u64 = 256;

/// The command that runs a script by a shell, if the program is text.
pub(super) fn by_a_shell(words: &[OsString]) -> Option<Vec<OsString>> {
    let (program, arguments) = words.split_first()?;
    let path = find(program)?;
    is_text(&path)?;
    // Prevents the shell from taking the path for an option.
    let path = if path.is_absolute() { path } else { Path::new(".").join(path) };
    let words = [SHELL.into(), path.into_os_string()];
    Some(words.into_iter().chain(arguments.iter().cloned()).collect())
}

/// Finds the file that the system tried to execute.
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
