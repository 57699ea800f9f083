//! Hand-written logs: each mistake leads to exactly its own finding.

use super::audit::read;
use super::log::{Entry, Sold};
use crate::demo::verdict::Verdict;

fn sale(buyer: u32, remaining: u32, token: u64) -> Entry {
    Entry::Sale(Sold { buyer, process: 1, remaining, token: Some(token), late: false })
}

/// Two of two are sold, to buyers 2 and 1; buyers 3 and 4 come too late.
fn good() -> Vec<Entry> {
    let late = [3, 4].map(|buyer| Entry::SoldOut { buyer });
    [sale(2, 1, 7), sale(1, 0, 9)].into_iter().chain(late).collect()
}

fn log(entries: &[Entry]) -> String {
    entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n").collect()
}

fn audit(entries: &[Entry]) -> Verdict {
    read(log(entries).as_bytes(), 4, 2)
}

#[track_caller]
fn finds(entries: &[Entry], expected: &[&str]) -> String {
    let report = audit(entries);
    assert_eq!(report.findings.iter().map(|f| f.kind).collect::<Vec<_>>(), expected, "{report:?}");
    assert_eq!(report.is_clean(), expected.is_empty());
    report.text()
}

#[test]
fn clean() {
    let text = finds(&good(), &[]);
    let due =
        "audit: clean: sold 2 of 2, in order, tokens increasing; 2 told \"sold out\"; 4 of 4 answered\n";
    assert_eq!(text, due);
}

#[test]
fn no_tokens_and_more_stock_than_buyers_are_no_findings() {
    let entries: Vec<_> = (1..=2)
        .map(|buyer| Sold { buyer, process: 1, remaining: 9 - buyer, token: None, late: false })
        .map(Entry::Sale)
        .collect();
    let report = read(log(&entries).as_bytes(), 2, 9);
    assert!(report.is_clean() && report.text().contains("in order; 0 told"), "{report:?}");
}

#[test]
fn oversold() {
    let mut entries = good();
    entries[2] = sale(3, 0, 11);
    let text = finds(&entries, &["oversold", "out_of_order"]);
    assert!(text.contains("oversold by 1: 3 sold, 2 in stock"), "{text}");
}

#[test]
fn undersold() {
    let mut entries = good();
    entries[1] = Entry::SoldOut { buyer: 1 };
    let text = finds(&entries, &["undersold", "sold_out_early"]);
    assert!(text.contains("undersold by 1") && text.contains("buyer 1 after 1 sales"), "{text}");
}

#[test]
fn out_of_order() {
    let entries: Vec<_> = [sale(2, 0, 7), sale(1, 1, 9)].into_iter().chain(good().split_off(2)).collect();
    let text = finds(&entries, &["out_of_order"]);
    assert!(text.contains("2 sales out of order: buyer 2 left 0, expected 1"), "{text}");
}

#[test]
fn repeated_and_falling_tokens() {
    let mut entries = good();
    entries[1] = sale(1, 0, 7);
    assert!(finds(&entries, &["repeated_token"]).contains("token 7 was given to buyer 2 and to buyer 1"));
    entries[1] = sale(1, 0, 6);
    assert!(finds(&entries, &["falling_token"]).contains("buyer 1 came after 2"));
}

#[test]
fn answers_that_are_missing_doubled_or_not_due() {
    let mut entries = good();
    let last = entries.pop().unwrap();
    assert!(finds(&entries, &["missing_answer"]).contains("1 buyers got no answer: the first is 4"));
    entries.push(Entry::Failed { buyer: 4, why: "no\nanswer".into() });
    assert!(finds(&entries, &["failed", "missing_answer"]).contains("buyer 4: no answer"));
    entries[3] = last.clone();
    entries.push(last);
    finds(&entries, &["answered_twice"]);
    entries[4] = Entry::SoldOut { buyer: 5 };
    finds(&entries, &["unknown_buyer"]);
}

#[test]
fn what_the_holders_of_locks_did_wrong() {
    let mut entries = good();
    entries[1] = Entry::Sale(Sold { buyer: 1, process: 1, remaining: 0, token: Some(9), late: true });
    assert!(finds(&entries, &["lease_ended"]).contains("1 sales were written after their lease"));
    let mut entries = good();
    entries.insert(1, Entry::WrongRelease { buyer: 2, of: 1 });
    assert!(finds(&entries, &["wrong_release"]).contains("buyer 2 freed that of buyer 1"));
}

#[test]
fn a_log_that_was_cut_off() {
    let whole = log(&good());
    let report = read(&whole.as_bytes()[..whole.len() - 1], 4, 2);
    let kinds: Vec<_> = report.findings.iter().map(|f| f.kind).collect();
    assert_eq!(kinds, ["unreadable", "missing_answer"]);
    assert!(read(b"", 1, 0).findings.len() == 1);
}
