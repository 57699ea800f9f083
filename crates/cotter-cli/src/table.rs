//! Text tables.

use cotter_console::{Console, Failure};
use std::io::{IsTerminal, Write, stdout};

/// A column narrower than this is not cut.
const NARROW: usize = 12;

/// Prints rows under a header; nothing if there are no rows. On a terminal that is too narrow for the table, where its lines
/// would be broken anywhere, the widest cells are cut in the middle; if that is not enough, each row is a paragraph.
pub(crate) fn print<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    console: &Console,
) -> Result<(), Failure> {
    print_some(&head, rows.into_iter().map(Vec::from).collect(), console)
}

/// The same for as many columns as there are in the head.
pub(crate) fn print_some(head: &[&str], rows: Vec<Vec<String>>, console: &Console) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    Ok(console.out().write_all(text(head, rows, columns()).as_bytes())?)
}

fn text(head: &[&str], mut rows: Vec<Vec<String>>, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return table(head, &rows) };
    let mut widths = widths(head, &rows);
    let gaps = 2 * head.len().saturating_sub(1);
    let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(columns);
    while excess > 0 {
        let widest = (0..widths.len()).max_by_key(|column| widths[*column]).unwrap_or_default();
        if widths[widest] <= NARROW.max(head[widest].len()) {
            return paragraphs(head, &rows);
        }
        widths[widest] -= 1;
        excess -= 1;
    }
    for (cell, width) in rows.iter_mut().flat_map(|row| row.iter_mut().zip(&widths)) {
        *cell = cut(cell, *width);
    }
    table(head, &rows)
}

/// The beginning and the end of a text that is too long.
fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let (before, after) = (width / 2, (width - 1) / 2);
    let (start, end) = (text.chars().take(before), text.chars().skip(length - after));
    start.chain(['…']).chain(end).collect()
}

/// The width of the terminal, if standard output is one that knows its own.
fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stdout()).ok().filter(|_| stdout().is_terminal())?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

fn widths(head: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default().max(head[column].chars().count())
    };
    (0..head.len()).map(width).collect()
}

fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let widths = widths(head, rows);
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let head = line(&mut head.iter().copied());
    std::iter::once(head).chain(rows.iter().map(|row| line(&mut row.iter().map(String::as_str)))).collect()
}

/// Each row as lines of a column's name and its value.
fn paragraphs(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = head.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let paragraph = |row: &Vec<String>| {
        let lines = head.iter().zip(row).map(|(name, cell)| format!("{name:width$}  {cell}\n"));
        lines.collect::<String>()
    };
    rows.iter().map(paragraph).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows<const N: usize>(rows: &[[&str; N]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.map(String::from).to_vec()).collect()
    }

    #[test]
    fn a_row_is_a_line_or_a_paragraph() {
        let rows = rows(&[["a", "waiting"], ["long-name", "-"]]);
        let head = ["JOB", "STATE"];
        let table = "JOB        STATE\na          waiting\nlong-name  -\n";
        assert_eq!(text(&head, rows.clone(), None), table);
        assert_eq!(text(&head, rows.clone(), Some(18)), table);
        let paragraphs = "JOB    a\nSTATE  waiting\n\nJOB    long-name\nSTATE  -\n";
        assert_eq!(text(&head, rows, Some(17)), paragraphs);
    }

    #[test]
    fn the_widest_cells_are_cut_in_the_middle() {
        let rows = rows(&[["orders:cleanup:in-the-north", "x"], ["ä:cleanup:in-the-sünth-of-é", "y"]]);
        let head = ["NAME", "BY"];
        let text = text(&head, rows, Some(20));
        assert_eq!(text, "NAME              BY\norders:c…e-north  x\nä:cleanu…th-of-é  y\n");
    }
}
