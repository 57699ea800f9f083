//! Text tables.

use cotter_console::{Console, Failure};
use std::io::{IsTerminal, Write, stdout};

/// A column narrower than this is not cut.
const NARROW: usize = 12;

/// In front of a line below a row.
const INDENT: &str = "  ";

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
    print_with_lines(head, rows.into_iter().map(|row| (row, None)).collect(), console)
}

/// The same with a line of its own below each row, if there is one for it: it belongs to no column. On a terminal it is cut like a
/// cell.
pub(crate) fn print_with_lines(
    head: &[&str],
    rows: Vec<(Vec<String>, Option<String>)>,
    console: &Console,
) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let (rows, below): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    Ok(console.out().write_all(text(head, rows, &below, columns()).as_bytes())?)
}

fn text(
    head: &[&str],
    mut rows: Vec<Vec<String>>,
    below: &[Option<String>],
    columns: Option<usize>,
) -> String {
    let Some(columns) = columns else { return table(head, &rows, below) };
    let fitting = |line: &String| cut(line, columns.saturating_sub(INDENT.len()).max(1));
    let below: Vec<_> = below.iter().map(|line| line.as_ref().map(fitting)).collect();
    let mut widths = widths(head, &rows);
    let gaps = 2 * head.len().saturating_sub(1);
    let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(columns);
    while excess > 0 {
        let widest = (0..widths.len()).max_by_key(|column| widths[*column]).unwrap_or_default();
        if widths[widest] <= NARROW.max(head[widest].len()) {
            return paragraphs(head, &rows, &below);
        }
        widths[widest] -= 1;
        excess -= 1;
    }
    for (cell, width) in rows.iter_mut().flat_map(|row| row.iter_mut().zip(&widths)) {
        *cell = cut(cell, *width);
    }
    table(head, &rows, &below)
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

fn table(head: &[&str], rows: &[Vec<String>], below: &[Option<String>]) -> String {
    let widths = widths(head, rows);
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let head = line(&mut head.iter().copied());
    let row = |(row, below): (&Vec<String>, &Option<String>)| {
        line(&mut row.iter().map(String::as_str)) + &indented(below.as_deref())
    };
    std::iter::once(head).chain(rows.iter().zip(below).map(row)).collect()
}

fn indented(line: Option<&str>) -> String {
    line.map(|line| format!("{INDENT}{line}\n")).unwrap_or_default()
}

/// Each row as lines of a column's name and its value.
fn paragraphs(head: &[&str], rows: &[Vec<String>], below: &[Option<String>]) -> String {
    let width = head.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let paragraph = |(row, below): (&Vec<String>, &Option<String>)| {
        let lines = head.iter().zip(row).map(|(name, cell)| format!("{name:width$}  {cell}\n"));
        lines.collect::<String>() + &indented(below.as_deref())
    };
    rows.iter().zip(below).map(paragraph).collect::<Vec<_>>().join("\n")
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
        let none = [None, None];
        assert_eq!(text(&head, rows.clone(), &none, None), table);
        assert_eq!(text(&head, rows.clone(), &none, Some(18)), table);
        let paragraphs = "JOB    a\nSTATE  waiting\n\nJOB    long-name\nSTATE  -\n";
        assert_eq!(text(&head, rows, &none, Some(17)), paragraphs);
    }

    #[test]
    fn a_line_below_a_row_widens_no_column() {
        let rows = rows(&[["a", "waiting"], ["b", "-"]]);
        let (head, below) = (["JOB", "STATE"], [Some("longer than the table".to_owned()), None]);
        let table = "JOB  STATE\na    waiting\n  longer than the table\nb    -\n";
        assert_eq!(text(&head, rows.clone(), &below, None), table);
        let cut = "JOB  STATE\na    waiting\n  longe…able\nb    -\n";
        assert_eq!(text(&head, rows.clone(), &below, Some(12)), cut);
        let paragraphs = "JOB    a\nSTATE  waiting\n  long…able\n\nJOB    b\nSTATE  -\n";
        assert_eq!(text(&head, rows, &below, Some(11)), paragraphs);
    }

    #[test]
    fn the_widest_cells_are_cut_in_the_middle() {
        let rows = rows(&[["orders:cleanup:in-the-north", "x"], ["ä:cleanup:in-the-sünth-of-é", "y"]]);
        let head = ["NAME", "BY"];
        let text = text(&head, rows, &[None, None], Some(20));
        assert_eq!(text, "NAME              BY\norders:c…e-north  x\nä:cleanu…th-of-é  y\n");
    }
}
