//! How locks are held, and in which table: the options `mode`, `table` and `column`.

use super::identifier;
use crate::error::config;
use crate::{Name, Result};

/// How locks are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Lease,
    Row,
    Advisory,
    ShedLock,
}

impl Mode {
    const ALL: [(&'static str, Self); 4] = [
        ("lease", Self::Lease),
        ("row", Self::Row),
        ("advisory", Self::Advisory),
        ("shedlock", Self::ShedLock),
    ];

    /// Reads the option `mode`.
    pub(crate) fn parse(value: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(name, _)| *name == value);
        found.map(|(_, mode)| *mode).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name);
            config(format!("unknown mode={value}; the modes are {}", names.join(", ")))
        })
    }
}

/// A table of the user's own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Table {
    /// May begin with a schema.
    pub(crate) name: String,
    /// Says which row a name stands for.
    pub(crate) column: String,
}

impl Table {
    /// ShedLock's own, unless it has another name.
    pub(crate) const SHEDLOCK: &'static str = "shedlock";

    /// The name, as it is written in a statement.
    pub(crate) fn quoted(&self, quote: char) -> String {
        quoted(&self.name, quote)
    }

    /// Reads the option `table`.
    pub(crate) fn set_name(&mut self, key: &str, value: &str) -> Result<()> {
        let parts = value.splitn(2, '.').map(|part| identifier(key, part.to_owned()));
        self.name = parts.collect::<Result<Vec<_>>>()?.join(".");
        Ok(())
    }

    /// The name of the set of locks in `mode=row`: each table has its own.
    pub(crate) fn lock_set(table: Option<&Self>) -> String {
        table.map_or_else(|| "row".into(), |table| format!("{}.{}", table.name, table.column))
    }

    /// The name under which the notes of a lock are stored: those of a table of the user's own are separate from those of the
    /// locks with the same names.
    pub(crate) fn note_name(table: Option<&Self>, lock_set: &str, name: &Name) -> String {
        match table {
            None => name.to_string(),
            Some(_) => format!("{lock_set}:{name}"),
        }
    }

    /// Refuses options that contradict each other.
    pub(crate) fn check(table: Option<&Self>, mode: Mode) -> Result<()> {
        match table {
            Some(table) if mode == Mode::ShedLock && !table.column.is_empty() => {
                Err(config("mode=shedlock uses the columns of ShedLock; remove column="))
            }
            Some(_) if mode == Mode::ShedLock => Ok(()),
            Some(table) if mode != Mode::Row && table.column.is_empty() => {
                Err(config("table= requires mode=row or mode=shedlock"))
            }
            Some(_) if mode != Mode::Row => Err(config("column= requires mode=row, with table=")),
            Some(table) if table.name.is_empty() || table.column.is_empty() => Err(config(
                "table= and column= must be set together: the column identifies the row of a name",
            )),
            _ => Ok(()),
        }
    }
}

/// The name of a table, as it is written in a statement.
pub(crate) fn quoted(name: &str, quote: char) -> String {
    name.split('.').map(|part| format!("{quote}{part}{quote}")).collect::<Vec<_>>().join(".")
}
