//! Text tables.

use crate::output::{Console, Failure};
use std::io::Write;

/// Prints rows under a header; nothing if there are no rows.
pub(crate) fn print<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    console: &Console,
) -> Result<(), Failure> {
    let rows: Vec<_> = [head.map(String::from)].into_iter().chain(rows).collect();
    if rows.len() == 1 {
        return Ok(());
    }
    let mut out = console.out();
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
