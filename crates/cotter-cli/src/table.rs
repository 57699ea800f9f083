//! Text tables.

use cotter_console::{Console, Failure};
use std::io::{IsTerminal, Write, stdout};

/// Prints rows under a header; nothing if there are no rows. On a terminal that is too narrow for the table, where its lines
/// would be broken anywhere, each row is a paragraph.
pub(crate) fn print<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    console: &Console,
) -> Result<(), Failure> {
    let rows: Vec<_> = rows.into_iter().collect();
    if rows.is_empty() {
        return Ok(());
    }
    let table = table(head, &rows);
    let longest = table.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    let is_too_wide = columns().is_some_and(|columns| longest > columns);
    let text = if is_too_wide { paragraphs(head, &rows) } else { table };
    Ok(console.out().write_all(text.as_bytes())?)
}

/// The width of the terminal, if standard output is one that knows its own.
fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stdout()).ok().filter(|_| stdout().is_terminal())?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let head = head.map(String::from);
    let all = || std::iter::once(&head).chain(rows);
    let width = |column: usize| all().map(|r| r[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    all().map(line).collect()
}

/// Each row as lines of a column's name and its value.
fn paragraphs<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let width = head.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let paragraph = |row: &[String; N]| {
        let lines = head.iter().zip(row).map(|(name, cell)| format!("{name:width$}  {cell}\n"));
        lines.collect::<String>()
    };
    rows.iter().map(paragraph).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_line_or_a_paragraph() {
        let rows = [["a", "waiting"], ["long-name", "-"]].map(|row| row.map(String::from));
        assert_eq!(table(["JOB", "STATE"], &rows), "JOB        STATE\na          waiting\nlong-name  -\n");
        let text = "JOB    a\nSTATE  waiting\n\nJOB    long-name\nSTATE  -\n";
        assert_eq!(paragraphs(["JOB", "STATE"], &rows), text);
    }
}
