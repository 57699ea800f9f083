//! The audit. It reads only the tables, and does not depend on how orders were closed or on any counters.

use super::table::{Table, unusable};
use crate::demo::verdict::{Finding, Verdict};
use cotter_console::Failure;
use rusqlite::{Connection, OptionalExtension, Result};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The orders that must not be closed are due later than this.
const HALF_A_DAY: Duration = Duration::from_secs(43_200);

/// The checks: a name for programs, and a query that returns the number of cases and an example, or no row if there is no case.
/// `?1` is the instant after which no order is overdue.
const CHECKS: [(&str, &str); 6] = [
    (
        "closed_twice",
        "SELECT COUNT(*), 'orders were closed more than once: order ' || id || ' ' || n || ' times' FROM
         (SELECT orders AS id, COUNT(*) AS n FROM closing GROUP BY orders HAVING n > 1 ORDER BY n DESC)
         WHERE ?1 HAVING COUNT(*) > 0",
    ),
    (
        "too_much_stock",
        "SELECT COUNT(*), 'items have too much stock: ' || stock || ' of ' || name || ' instead of ' || due
         FROM balance WHERE ?1 AND stock > due HAVING COUNT(*) > 0",
    ),
    (
        "too_little_stock",
        "SELECT COUNT(*), 'items have too little stock: ' || stock || ' of ' || name || ' instead of ' || due
         FROM balance WHERE ?1 AND stock < due HAVING COUNT(*) > 0",
    ),
    (
        "not_closed",
        "SELECT COUNT(*), 'overdue orders were not closed: the first is ' || MIN(id) FROM orders
         WHERE status = 'unpaid' AND due < ?1 HAVING COUNT(*) > 0",
    ),
    (
        "wrongly_closed",
        "SELECT COUNT(*), 'closings were too early, or of unknown orders: the first is of order ' || c.orders FROM closing c
         LEFT JOIN orders o ON o.id = c.orders
         WHERE ?1 AND (o.id IS NULL OR o.status <> 'closed' OR o.due > c.slot * 1000) HAVING COUNT(*) > 0",
    ),
    (
        "falling_token",
        "SELECT COUNT(*), 'tokens decreased: that of order ' || b.orders || ' is smaller than that of order ' || a.orders
         FROM closing a JOIN closing b ON b.id = a.id + 1 WHERE ?1 AND b.token < a.token HAVING COUNT(*) > 0",
    ),
];

/// The expected stock of each item: the initial stock minus what is sold or still reserved.
const BALANCE: &str = "CREATE TEMP VIEW balance AS SELECT i.name, i.stock, i.at_first -
    (SELECT COALESCE(SUM(quantity), 0) FROM orders o WHERE o.item = i.id AND o.status <> 'closed') AS due FROM item i";

/// Audits the tables in a folder.
pub(super) fn read(dir: &Path, replicas: u32) -> std::result::Result<Verdict, Failure> {
    let table = Table::open_to_read(dir).map_err(unusable)?;
    verdict(&table.0, replicas, SystemTime::now() + HALF_A_DAY).map_err(unusable)
}

fn verdict(tables: &Connection, replicas: u32, until: SystemTime) -> Result<Verdict> {
    let until = super::table::millis(until.max(UNIX_EPOCH));
    tables.execute_batch(BALANCE)?;
    let mut findings = Vec::new();
    for (kind, query) in CHECKS {
        let found = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
        if let Some((n, what)) = tables.query_row(query, [until], found).optional()? {
            findings.push(Finding { kind, text: format!("{n} {what}") });
        }
    }
    let count = |query: &str| tables.query_row(query, [], |row| row.get::<_, i64>(0));
    let closed = count("SELECT COUNT(*) FROM orders WHERE status = 'closed'")?;
    let closings = count("SELECT COUNT(*) FROM closing")?;
    let others = count("SELECT COUNT(*) FROM orders WHERE status <> 'closed'")?;
    let with_tokens = count("SELECT COUNT(token) = COUNT(*) AND COUNT(*) > 0 FROM closing")? == 1;
    let tokens = if with_tokens { ", tokens increasing" } else { "" };
    Ok(Verdict {
        good: format!(
            "{closed} overdue orders closed once by {replicas} replicas, stock restored once{tokens}; {others} others untouched"
        ),
        bad: format!("{closed} orders closed by {replicas} replicas in {closings} closings"),
        facts: json!({ "replicas": replicas, "closed": closed, "closings": closings, "others": others }),
        findings,
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::{Closer, Plan};
    use super::*;

    /// Four orders, all overdue and closed, at twenty seconds past 1970.
    fn closed() -> (tempfile::TempDir, Table) {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan { slots: 2, orders: 2, every: Duration::from_secs(10) };
        let mut table = Table::create(dir.path(), &plan).unwrap();
        for slot in [10, 20] {
            for order in table.overdue(slot).unwrap() {
                table.close(&order, Closer { replica: 1, slot, token: Some(slot) }).unwrap();
            }
        }
        (dir, table)
    }

    #[track_caller]
    fn finds(table: &Table, kinds: &[&str]) -> String {
        let until = UNIX_EPOCH + HALF_A_DAY;
        let verdict = verdict(&table.0, 2, until).unwrap();
        assert_eq!(verdict.findings.iter().map(|f| f.kind).collect::<Vec<_>>(), kinds, "{verdict:?}");
        verdict.text()
    }

    #[test]
    fn clean() {
        let (_dir, table) = closed();
        let due = "4 overdue orders closed once by 2 replicas, stock restored once, tokens increasing; 2 others untouched";
        assert_eq!(finds(&table, &[]), format!("audit: clean: {due}\n"));
    }

    #[test]
    fn each_mistake_is_a_finding() {
        let spoiled = |sql: &str, kinds: &[&str]| {
            let (_dir, table) = closed();
            table.0.execute_batch(sql).unwrap();
            finds(&table, kinds)
        };
        let again =
            "INSERT INTO closing SELECT NULL, orders, 2, slot, token, stock FROM closing WHERE id = 4";
        assert!(
            spoiled(again, &["closed_twice"])
                .contains("1 orders were closed more than once: order 4 2 times")
        );
        let more = spoiled("UPDATE item SET stock = stock + 2 WHERE id = 1", &["too_much_stock"]);
        assert!(more.contains("of iPhone 7") && more.contains("1 items have too much stock"), "{more}");
        spoiled("UPDATE item SET stock = 0 WHERE id = 2", &["too_little_stock"]);
        spoiled("UPDATE orders SET due = 21000 WHERE id = 3", &["wrongly_closed"]);
        spoiled("UPDATE closing SET token = 9 WHERE id = 3", &["falling_token"]);
        let left = "UPDATE orders SET status = 'unpaid' WHERE id = 4;
                    UPDATE item SET stock = stock - 2 WHERE id = 1; DELETE FROM closing WHERE orders = 4";
        assert!(spoiled(left, &["not_closed"]).contains("1 overdue orders were not closed: the first is 4"));
    }

    #[test]
    fn two_replicas_that_read_the_same_orders_restore_stock_twice() {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan { slots: 1, orders: 3, every: Duration::from_secs(10) };
        let mut table = Table::create(dir.path(), &plan).unwrap();
        let (one, other) = (table.overdue(10).unwrap(), table.overdue(10).unwrap());
        for order in one.iter().chain(&other) {
            table.close(order, Closer { replica: 1, slot: 10, token: None }).unwrap();
        }
        let text = finds(&table, &["closed_twice", "too_much_stock"]);
        assert!(text.contains("3 orders closed by 2 replicas in 6 closings"), "{text}");
    }
}
