//! The audit. It reads only the log, and does not depend on how the sale was done or on any counters.

use super::checks;
use super::log::{Entry, Sold};
use crate::demo::verdict::Verdict;
use serde_json::json;
use std::collections::BTreeSet;

/// The entries of the log, by kind.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// In the order of the log.
    pub(super) sales: Vec<Sold>,
    /// The buyer, and the number of earlier sales.
    pub(super) sold_out: Vec<(u32, usize)>,
    pub(super) failed: Vec<(u32, String)>,
    pub(super) wrong_releases: Vec<(u32, u32)>,
    pub(super) unreadable: usize,
}

/// Audits the log of a sale of `stock` to `buyers`, which are numbered from 1.
pub(super) fn read(log: &[u8], buyers: u32, stock: u32) -> Verdict {
    let mut summary = Summary::default();
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        // A line without a line break was not written atomically.
        let whole = line.strip_suffix(b"\n").unwrap_or_default();
        match serde_json::from_slice(whole) {
            Ok(entry) => summary.enter(entry),
            Err(_) => summary.unreadable += 1,
        }
    }
    summary.verdict(buyers, stock)
}

impl Summary {
    fn enter(&mut self, entry: Entry) {
        match entry {
            Entry::Sale(sold) => self.sales.push(sold),
            Entry::SoldOut { buyer } => self.sold_out.push((buyer, self.sales.len())),
            Entry::Failed { buyer, why } => self.failed.push((buyer, why)),
            Entry::WrongRelease { buyer, of } => self.wrong_releases.push((buyer, of)),
        }
    }

    /// The buyers of all answers.
    pub(super) fn answers(&self) -> impl Iterator<Item = u32> {
        self.sales.iter().map(|sold| sold.buyer).chain(self.sold_out.iter().map(|(buyer, _)| *buyer))
    }

    fn verdict(&self, buyers: u32, stock: u32) -> Verdict {
        let answered = self.answers().collect::<BTreeSet<_>>().len();
        let with_tokens = !self.sales.is_empty() && self.sales.iter().all(|sold| sold.token.is_some());
        let tokens = if with_tokens { ", tokens increasing" } else { "" };
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
