//! What has to be so. Each check is for one thing, and says it once however often it is wrong.

use super::Book;
use crate::demo::verdict::Finding;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn all(book: &Book, buyers: u32, stock: u32) -> Vec<Finding> {
    let checks = [
        unreadable(book),
        amount(book, buyers, stock),
        order(book, stock),
        repeated_tokens(book),
        falling_tokens(book),
        late(book),
        wrong_releases(book),
        sold_out_early(book, buyers, stock),
        failed(book),
        missing(book, buyers),
        answered_twice(book),
        strangers(book, buyers),
    ];
    checks.into_iter().flatten().collect()
}

fn finding(kind: &'static str, text: String) -> Option<Finding> {
    Some(Finding { kind, text })
}

fn unreadable(book: &Book) -> Option<Finding> {
    let n = book.unreadable;
    (n > 0).then(|| finding("unreadable", format!("{n} lines of the log cannot be read")))?
}

fn amount(book: &Book, buyers: u32, stock: u32) -> Option<Finding> {
    let (sold, due) = (book.sales.len(), stock.min(buyers) as usize);
    if sold > due {
        let over = sold - due;
        return finding("oversold", format!("oversold by {over}: {sold} were sold, {stock} were there"));
    }
    let under = due - sold;
    (under > 0).then(|| finding("undersold", format!("undersold by {under}: {sold} were sold of {due}")))?
}

fn order(book: &Book, stock: u32) -> Option<Finding> {
    let due = (0..stock).rev().map(Some).chain(std::iter::repeat(None));
    let wrong = || book.sales.iter().zip(due.clone()).filter(|(sold, due)| Some(sold.remaining) != *due);
    let (first, due) = wrong().next()?;
    let due = due.map_or_else(|| "nothing to sell".to_owned(), |due| format!("{due}"));
    let (n, buyer, left) = (wrong().count(), first.buyer, first.remaining);
    finding("out_of_order", format!("{n} sales out of order: buyer {buyer} left {left}, due was {due}"))
}

fn repeated_tokens(book: &Book) -> Option<Finding> {
    let mut seen = BTreeMap::new();
    let tokens = book.sales.iter().filter_map(|sold| Some((sold.token?, sold.buyer)));
    let (token, buyer, first) =
        tokens.into_iter().find_map(|(token, buyer)| Some((token, buyer, seen.insert(token, buyer)?)))?;
    finding("repeated_token", format!("token {token} was given to buyer {first} and to buyer {buyer}"))
}

fn falling_tokens(book: &Book) -> Option<Finding> {
    let falls = || book.sales.windows(2).filter(|pair| pair[1].token < pair[0].token);
    let pair = falls().next()?;
    let (n, buyer, earlier) = (falls().count(), pair[1].buyer, pair[0].buyer);
    finding(
        "falling_token",
        format!("{n} tokens fell: buyer {buyer} came after {earlier} with a smaller one"),
    )
}

fn late(book: &Book) -> Option<Finding> {
    let n = book.sales.iter().filter(|sold| sold.late).count();
    let text = || format!("{n} sales were written after their lease had ended: it is too short for the work");
    (n > 0).then(|| finding("lease_ended", text()))?
}

fn wrong_releases(book: &Book) -> Option<Finding> {
    let (buyer, of) = book.wrong_releases.first()?;
    let n = book.wrong_releases.len();
    let text = format!("{n} releases freed somebody else's lock: buyer {buyer} freed that of buyer {of}");
    finding("wrong_release", text)
}

fn sold_out_early(book: &Book, buyers: u32, stock: u32) -> Option<Finding> {
    let due = stock.min(buyers) as usize;
    let early = || book.sold_out.iter().filter(|(_, before)| *before < due);
    let (buyer, before) = early().next()?;
    let n = early().count();
    finding(
        "sold_out_early",
        format!("{n} were told \"sold out\" too early: buyer {buyer} after {before} sales"),
    )
}

fn failed(book: &Book) -> Option<Finding> {
    let (buyer, why) = book.failed.first()?;
    finding("failed", format!("{} buyers failed: buyer {buyer}: {why}", book.failed.len()))
}

fn missing(book: &Book, buyers: u32) -> Option<Finding> {
    let answered: BTreeSet<_> = book.answers().collect();
    let missing = || (1..=buyers).filter(|buyer| !answered.contains(buyer));
    let first = missing().next()?;
    finding("missing_answer", format!("{} buyers got no answer: the first is {first}", missing().count()))
}

fn answered_twice(book: &Book) -> Option<Finding> {
    let mut seen = BTreeSet::new();
    let buyer = book.answers().find(|buyer| !seen.insert(*buyer))?;
    finding("answered_twice", format!("buyer {buyer} was answered more than once"))
}

fn strangers(book: &Book, buyers: u32) -> Option<Finding> {
    let buyer = book.answers().find(|buyer| !(1..=buyers).contains(buyer))?;
    finding("unknown_buyer", format!("buyer {buyer} was answered and is none of the {buyers}"))
}
