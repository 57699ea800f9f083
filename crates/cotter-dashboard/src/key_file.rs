//! The file with the key, for a dashboard that is started again and again, and whose output others read.

use crate::door::Secret;
use cotter_console::{Failure, clean};
use std::fs::File;
use std::io::{Error, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// As many characters as 128 bits take, in letters and digits.
const SHORTEST: usize = 22;

/// Reads the key. Unlike a password, which others may have to read as well, it is refused if others can.
pub(crate) fn read(path: &Path) -> Result<Secret, Failure> {
    let of = |why: String| Failure::config(format!("--key-file {}: {why}", clean(&path.to_string_lossy())));
    let unreadable = |error: Error| of(format!("cannot be read: {error}"));
    let mut file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(of("others can read or write it: chmod 600 the file".to_owned()));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    let key = text.trim_end_matches(['\r', '\n']);
    if key.len() < SHORTEST || !key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        let why =
            "the key has to be at least 22 letters and digits on one line: `openssl rand -hex 16` makes one";
        return Err(of(why.to_owned()));
    }
    Ok(Secret::known(key))
}
