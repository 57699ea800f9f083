//! How locks are held, and in which table: the options `mode`, `table` and `column`.

use super::identifier;
use crate::Result;
use crate::error::config;

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

    /// Reads the option of a store that has these modes.
    pub(crate) fn parse(value: &str, known: &[Self]) -> Result<Self> {
        let known = Self::ALL.iter().filter(|(_, mode)| known.contains(mode));
        let found = known.clone().find(|(name, _)| *name == value);
        found.map(|(_, mode)| *mode).ok_or_else(|| {
            let names: Vec<&str> = known.map(|(name, _)| *name).collect();
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

    /// As it stands in a statement.
    pub(crate) fn quoted(&self, quote: char) -> String {
        quoted(&self.name, quote)
    }

    /// Reads the option `table`.
    pub(crate) fn set_name(&mut self, key: &str, value: &str) -> Result<()> {
        let parts = value.splitn(2, '.').map(|part| identifier(key, part.to_owned()));
        self.name = parts.collect::<Result<Vec<_>>>()?.join(".");
        Ok(())
    }

    /// Refuses options that contradict each other.
    pub(crate) fn check(table: Option<&Self>, mode: Mode) -> Result<()> {
        match table {
            Some(table) if mode == Mode::ShedLock && !table.column.is_empty() => {
                Err(config("mode=shedlock has columns of its own; leave out column="))
            }
            Some(_) if mode == Mode::ShedLock => Ok(()),
            Some(_) if mode != Mode::Row => Err(config("table= and column= need mode=row")),
            Some(table) if table.name.is_empty() || table.column.is_empty() => {
                Err(config("table= and column= need each other: the column says which row a name stands for"))
            }
            _ => Ok(()),
        }
    }
}

/// The name of a table, as it stands in a statement.
pub(crate) fn quoted(name: &str, quote: char) -> String {
    name.split('.').map(|part| format!("{quote}{part}{quote}")).collect::<Vec<_>>().join(".")
}
