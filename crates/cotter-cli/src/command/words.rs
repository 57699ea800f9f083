//! The words of a command on their way to its shim.
//!
//! They do not stand in the shim's own command line: whoever kills by what stands there (`pkill -f job`) means the command,
//! and would take the shim away with it, which is there to end what is left.

use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What ends a word: no word has it.
const END: u8 = 0;

/// A descriptor from which they can be read; there may be more of them than fit into a packet.
pub(super) fn pack(words: &[OsString]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("command", MemfdFlags::CLOEXEC)?);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.as_bytes().iter().copied().chain([END])).collect();
    file.write_all(&bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// What was packed.
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
