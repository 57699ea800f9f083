//! The checks of the audit. Each reports at most one finding, however often it fails.

use super::audit::Summary;
use crate::demo::verdict::Finding;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn all(summary: &Summary, buyers: u32, stock: u32) -> Vec<Finding> {
    let checks = [
        unreadable(summary),
        amount(summary, buyers, stock),
        order(summary, stock),
        repeated_tokens(summary),
        falling_tokens(summary),
        late(summary),
        wrong_releases(summary),
        sold_out_early(summary, buyers, stock),
        failed(summary),
        missing(summary, buyers),
        answered_twice(summary),
        strangers(summary, buyers),
    ];
    checks.into_iter().flatten().collect()
}

fn finding(kind: &'static str, text: String) -> Option<Finding> {
    Some(Finding { kind, text })
}

fn unreadable(summary: &Summary) -> Option<Finding> {
    let n = summary.unreadable;
    (n > 0).then(|| finding("unreadable", format!("{n} lines of the log cannot be parsed")))?
}

fn amount(summary: &Summary, buyers: u32, stock: u32) -> Option<Finding> {
    let (sold, due) = (summary.sales.len(), stock.min(buyers) as usize);
    if sold > due {
        let over = sold - due;
        return finding("oversold", format!("oversold by {over}: {sold} sold, {stock} in stock"));
    }
    let under = due - sold;
    (under > 0).then(|| finding("undersold", format!("undersold by {under}: {sold} sold of {due}")))?
}

fn order(summary: &Summary, stock: u32) -> Option<Finding> {
    let due = (0..stock).rev().map(Some).chain(std::iter::repeat(None));
    let wrong = || summary.sales.iter().zip(due.clone()).filter(|(sold, due)| Some(sold.remaining) != *due);
    let (first, due) = wrong().next()?;
    let due = due.map_or_else(|| "nothing to sell".to_owned(), |due| format!("{due}"));
    let (n, buyer, left) = (wrong().count(), first.buyer, first.remaining);
    finding("out_of_order", format!("{n} sales out of order: buyer {buyer} left {left}, expected {due}"))
}

fn repeated_tokens(summary: &Summary) -> Option<Finding> {
    let mut seen = BTreeMap::new();
    let tokens = summary.sales.iter().filter_map(|sold| Some((sold.token?, sold.buyer)));
    let (token, buyer, first) =
        tokens.into_iter().find_map(|(token, buyer)| Some((token, buyer, seen.insert(token, buyer)?)))?;
    finding("repeated_token", format!("token {token} was given to buyer {first} and to buyer {buyer}"))
}

fn falling_tokens(summary: &Summary) -> Option<Finding> {
    let falls = || summary.sales.windows(2).filter(|pair| pair[1].token < pair[0].token);
    let pair = falls().next()?;
    let (n, buyer, earlier) = (falls().count(), pair[1].buyer, pair[0].buyer);
    finding(
        "falling_token",
        format!("{n} tokens decreased: buyer {buyer} came after {earlier} with a smaller one"),
    )
}

fn late(summary: &Summary) -> Option<Finding> {
    let n = summary.sales.iter().filter(|sold| sold.late).count();
    let text = || format!("{n} sales were written after their lease had ended: it is too short for the work");
    (n > 0).then(|| finding("lease_ended", text()))?
}

fn wrong_releases(summary: &Summary) -> Option<Finding> {
    let (buyer, of) = summary.wrong_releases.first()?;
    let n = summary.wrong_releases.len();
    let text = format!("{n} releases freed somebody else's lock: buyer {buyer} freed that of buyer {of}");
    finding("wrong_release", text)
}

fn sold_out_early(summary: &Summary, buyers: u32, stock: u32) -> Option<Finding> {
    let due = stock.min(buyers) as usize;
    let early = || summary.sold_out.iter().filter(|(_, before)| *before < due);
    let (buyer, before) = early().next()?;
    let n = early().count();
    finding(
        "sold_out_early",
        format!("{n} were told \"sold out\" too early: buyer {buyer} after {before} sales"),
    )
}

fn failed(summary: &Summary) -> Option<Finding> {
    let (buyer, why) = summary.failed.first()?;
    finding("failed", format!("{} buyers failed: buyer {buyer}: {why}", summary.failed.len()))
}

fn missing(summary: &Summary, buyers: u32) -> Option<Finding> {
    let answered: BTreeSet<_> = summary.answers().collect();
    let missing = || (1..=buyers).filter(|buyer| !answered.contains(buyer));
    let first = missing().next()?;
    finding("missing_answer", format!("{} buyers got no answer: the first is {first}", missing().count()))
}

fn answered_twice(summary: &Summary) -> Option<Finding> {
    let mut seen = BTreeSet::new();
    let buyer = summary.answers().find(|buyer| !seen.insert(*buyer))?;
    finding("answered_twice", format!("buyer {buyer} was answered more than once"))
}

fn strangers(summary: &Summary, buyers: u32) -> Option<Finding> {
    let buyer = summary.answers().find(|buyer| !(1..=buyers).contains(buyer))?;
    finding("unknown_buyer", format!("buyer {buyer} was answered but is not one of the {buyers}"))
}
