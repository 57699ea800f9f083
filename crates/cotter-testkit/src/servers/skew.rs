//! A server whose clock can be stepped: a small library that is loaded into it.
//!
//! libfaketime does not work here: it calls the clock while the server's allocator is being set up, and never returns.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = include_str!("skew.c");

/// Makes the library and the file that it reads in this folder.
pub(super) fn build(folder: &Path) -> io::Result<PathBuf> {
    step(folder, 0)?;
    library(folder, "skew", SOURCE)
}

/// Makes a library that turns the question for the parent's process id into a fork, for tests in safe code.
///
/// # Errors
/// It cannot be compiled.
pub fn forking_library(folder: &Path) -> io::Result<PathBuf> {
    library(folder, "fork", include_str!("fork.c"))
}

/// Compiles a library to be loaded in front of others.
fn library(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    let (source, library) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.so")));
    std::fs::write(&source, text)?;
    let mut compiler = Command::new("cc");
    let status = compiler.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).status()?;
    if status.success() { Ok(library) } else { Err(io::Error::other(format!("cc: {status}"))) }
}

/// Sets the clock ahead by this many nanoseconds from now on.
pub(super) fn step(folder: &Path, nanos: i64) -> io::Result<()> {
    // In place: the server has mapped it.
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::options().write(true).create(true).truncate(false).open(folder.join("skew"))?;
    file.write_all_at(&nanos.to_le_bytes(), 0)
}
