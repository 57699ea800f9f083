//! The audit: reads the log and nothing else. It does not know how the sale was done, nor what anybody counted.

mod checks;
mod report;
#[cfg(test)]
mod tests;

pub(super) use report::Report;

use super::log::{Entry, Sold};

/// What the log says, sorted.
#[derive(Debug, Default)]
struct Book {
    /// In the order in which they stand there.
    sales: Vec<Sold>,
    /// With how many sales stood before it.
    sold_out: Vec<(u32, usize)>,
    failed: Vec<(u32, String)>,
    wrong_releases: Vec<(u32, u32)>,
    unreadable: usize,
}

/// What is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// For programs.
    kind: &'static str,
    /// For people.
    text: String,
}

/// Reads a log of a sale of `stock` to `buyers`, who are numbered from 1.
pub(super) fn read(log: &[u8], buyers: u32, stock: u32) -> Report {
    let mut book = Book::default();
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        // A line without its end was not written in one piece.
        let whole = line.strip_suffix(b"\n").unwrap_or_default();
        match serde_json::from_slice(whole) {
            Ok(entry) => book.enter(entry),
            Err(_) => book.unreadable += 1,
        }
    }
    let findings = checks::all(&book, buyers, stock);
    Report::new(&book, buyers, stock, findings)
}

impl Book {
    fn enter(&mut self, entry: Entry) {
        match entry {
            Entry::Sale(sold) => self.sales.push(sold),
            Entry::SoldOut { buyer } => self.sold_out.push((buyer, self.sales.len())),
            Entry::Failed { buyer, why } => self.failed.push((buyer, why)),
            Entry::WrongRelease { buyer, of } => self.wrong_releases.push((buyer, of)),
        }
    }

    /// The buyer of each answer.
    fn answers(&self) -> impl Iterator<Item = u32> {
        self.sales.iter().map(|sold| sold.buyer).chain(self.sold_out.iter().map(|(buyer, _)| *buyer))
    }
}
