//! `--watch`: a list again and again, until interrupted.

use clap::Args;
use cotter_console::duration::parse_positive;
use cotter_console::{Console, Exit, Failure};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;
use tokio::time::sleep;

/// The option.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Print the list every second, or at this interval, until interrupted; with --json, print what has changed
    #[arg(
        short,
        long,
        value_name = "DUR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1s",
        value_parser = parse_positive,
    )]
    pub(crate) watch: Option<Duration>,
}

/// Clears the screen of a terminal.
const CLEAR: &[u8] = b"\x1b[H\x1b[2J";

/// Shows it again and again. A store that does not answer is asked again, and that is told once.
pub(crate) async fn watch(
    every: Duration,
    console: &Console,
    mut show: impl AsyncFnMut() -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let mut is_down = false;
    loop {
        match show().await {
            Ok(()) => is_down = false,
            Err(failure) if failure.exit != Exit::Unreachable => return Err(failure),
            Err(failure) if !std::mem::replace(&mut is_down, true) => console.failure(&failure),
            Err(_) => {}
        }
        sleep(every).await;
    }
}

/// Prints a table: in place of the last one on a terminal, and elsewhere with an empty line behind it.
pub(crate) fn page(print: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let mut out = io::stdout();
    if out.is_terminal() {
        out.write_all(CLEAR)?;
        print()?;
    } else {
        print()?;
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// What was shown last, for programs: they are told what has changed.
pub(crate) struct Changes<T>(BTreeMap<String, T>);

impl<T> Default for Changes<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: PartialEq> Changes<T> {
    /// Prints what is new or has changed as this object, and what is gone with its name under this key.
    pub(crate) fn print(
        &mut self,
        key: &str,
        now: BTreeMap<String, T>,
        object: impl Fn(&str) -> Option<String>,
        console: &Console,
    ) -> Result<(), Failure> {
        let (changed, gone) = self.take(now);
        for line in changed.iter().filter_map(|name| object(name)) {
            writeln!(console.out(), "{line}")?;
        }
        for name in gone {
            writeln!(console.out(), "{}", serde_json::json!({ key: name, "gone": true }))?;
        }
        Ok(console.out().flush()?)
    }

    /// Takes what is there now; returns the names of what is new or has changed, and of what is gone.
    fn take(&mut self, now: BTreeMap<String, T>) -> (Vec<String>, Vec<String>) {
        let before = std::mem::replace(&mut self.0, now);
        let changed = self.0.iter().filter(|(name, value)| before.get(*name) != Some(*value));
        let gone = before.keys().filter(|name| !self.0.contains_key(*name));
        (changed.map(|(name, _)| name.clone()).collect(), gone.cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_what_has_changed_and_what_is_gone_is_told_once() {
        let mut changes = Changes::default();
        let mut take = |now: &[(&str, u8)]| {
            changes.take(now.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
        };
        let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(take(&[("a", 1), ("b", 1)]), (of(&["a", "b"]), Vec::new()));
        assert_eq!(take(&[("a", 1), ("b", 2)]), (of(&["b"]), Vec::new()));
        assert_eq!(take(&[("b", 2), ("c", 1)]), (of(&["c"]), vec!["a".to_owned()]));
        assert_eq!(take(&[("b", 2), ("c", 1)]), (of(&[]), Vec::new()));
    }
}
