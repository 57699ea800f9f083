//! Passing the arguments of a command to its shim.
//!
//! They are not on the command line of the shim: killing by pattern (`pkill -f job`) is meant for the command, and must not
//! kill the shim, which has to end whatever is left.

use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The terminator of an argument.
const END: u8 = 0;

/// Writes the arguments to a memory file, because they may not fit into a packet.
pub(super) fn pack(words: &[OsString]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("command", MemfdFlags::CLOEXEC)?);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.as_bytes().iter().copied().chain([END])).collect();
    file.write_all(&bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// Reads the arguments back.
pub(super) fn unpack(words: OwnedFd) -> io::Result<Vec<OsString>> {
    let mut bytes = Vec::new();
    File::from(words).read_to_end(&mut bytes)?;
    let words = bytes.split_inclusive(|byte| *byte == END);
    Ok(words.map(|word| OsString::from_vec(word[..word.len() - 1].to_vec())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_arrive_the_empty_ones_too() {
        let long = "x".repeat(1_000_000);
        for words in [&["a", "", "b c", &long, ""][..], &[""], &[]] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(unpack(pack(&words).unwrap()).unwrap(), words);
        }
    }
}
