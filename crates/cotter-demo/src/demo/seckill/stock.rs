//! The stock: a number in a plain file, as unprotected as a column that is read and then updated.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub(super) struct Stock(PathBuf);

impl Stock {
    pub(super) fn new(dir: &Path) -> Self {
        Self(dir.join("stock"))
    }

    pub(super) fn read(&self) -> io::Result<u32> {
        fs::read_to_string(&self.0)?.trim().parse().map_err(io::Error::other)
    }

    /// Always writes the same number of bytes, atomically and in place: without a lock updates get lost, but nobody reads half a
    /// number.
    pub(super) fn write(&self, left: u32) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(&self.0)?;
        file.write_all(format!("{left:>10}\n").as_bytes())
    }
}
