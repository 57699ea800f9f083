//! The audit: reads the log and nothing else. It does not know how the sale was done, nor what anybody counted.

mod checks;
#[cfg(test)]
mod tests;

use super::log::{Entry, Sold};
use crate::demo::verdict::Verdict;
use serde_json::json;
use std::collections::BTreeSet;

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

/// Reads a log of a sale of `stock` to `buyers`, who are numbered from 1.
pub(super) fn read(log: &[u8], buyers: u32, stock: u32) -> Verdict {
    let mut book = Book::default();
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        // A line without its end was not written in one piece.
        let whole = line.strip_suffix(b"\n").unwrap_or_default();
        match serde_json::from_slice(whole) {
            Ok(entry) => book.enter(entry),
            Err(_) => book.unreadable += 1,
        }
    }
    book.verdict(buyers, stock)
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

    fn verdict(&self, buyers: u32, stock: u32) -> Verdict {
        let answered = self.answers().collect::<BTreeSet<_>>().len();
        let with_tokens = !self.sales.is_empty() && self.sales.iter().all(|sold| sold.token.is_some());
        let tokens = if with_tokens { ", tokens rising" } else { "" };
        let (sold, sold_out) = (self.sales.len(), self.sold_out.len());
        let told = format!("{sold_out} told \"sold out\"; {answered} of {buyers} answered");
        Verdict {
            good: format!("sold {sold} of {stock}, in order{tokens}; {told}"),
            bad: format!("sold {sold} of {stock}; {told}"),
            facts: json!({
                "buyers": buyers, "stock": stock, "sold": sold, "sold_out": sold_out, "answered": answered,
            }),
            findings: checks::all(self, buyers, stock),
        }
    }
}
