//! The audit. It reads only the tables.

use super::orders::{Orders, Way};
use crate::demo::verdict::{Finding, Verdict};
use cotter_console::Failure;
use serde_json::{Map, Value, json};

/// The outcome for the orders of one kind of protection.
struct Outcome {
    way: Way,
    closed: i64,
    closings: i64,
    refused: i64,
    stock: i64,
}

impl Outcome {
    async fn of(orders: &mut Orders, way: Way) -> Result<Self, Failure> {
        let number = way as u32;
        let mut count = async |what: String| -> Result<i64, Failure> {
            Ok(orders.numbers(&what).await?.first().map_or(0, |row| row[0]))
        };
        let ids = format!("(SELECT id FROM {{orders}} WHERE way = {number})");
        let closings = format!("SELECT COUNT(*) FROM {{closing}} WHERE orders IN {ids} AND refused =");
        Ok(Self {
            way,
            closed: count(format!("SELECT COUNT(*) FROM {{orders}} WHERE way = {number} AND closed = 1"))
                .await?,
            closings: count(format!("{closings} 0")).await?,
            refused: count(format!("{closings} 1")).await?,
            stock: count(format!("SELECT stock FROM {{item}} WHERE way = {number}")).await?,
        })
    }

    fn text(&self) -> String {
        let Self { way, closed, closings, refused, stock } = self;
        let refusals = match way {
            Way::Nothing => String::new(),
            Way::Fence => format!(", {refused} closings by the stale holder refused for their token"),
            Way::Row => format!(", {refused} found closed already"),
        };
        let twice = closings - closed;
        let wrong = if twice > 0 { format!(": {twice} TWICE") } else { String::new() };
        format!(
            "{}: {closed} orders closed in {closings} closings{wrong}, {stock} items returned{refusals}",
            way.words()
        )
    }

    /// What is wrong with it. Without protection, mistakes are what is demonstrated.
    fn finding(&self, orders: i64) -> Option<Finding> {
        let is_exact = [self.closed, self.closings, self.stock] == [orders; 3];
        let kind = match self.way {
            Way::Nothing if self.closed == orders => return None,
            Way::Nothing => "not_closed",
            Way::Fence => "fence_failed",
            Way::Row => "row_lock_failed",
        };
        (!is_exact).then(|| Finding { kind, text: self.text() })
    }
}

/// Audits the tables.
pub(super) async fn read(orders: &mut Orders, count: u32, replicas: u32) -> Result<Verdict, Failure> {
    let (mut texts, mut facts, mut findings) = (Vec::new(), Map::new(), Vec::new());
    for way in Way::ALL {
        let outcome = Outcome::of(orders, way).await?;
        let Outcome { closed, closings, refused, stock, .. } = outcome;
        let numbers =
            json!({ "closed": closed, "closings": closings, "refused": refused, "returned": stock });
        facts.insert(way.key().into(), numbers);
        findings.extend(outcome.finding(i64::from(count)));
        texts.push(format!("\n  {}", outcome.text()));
    }
    let good =
        format!("{replicas} replicas, the first of which paused for longer than its lease{}", texts.concat());
    Ok(Verdict {
        bad: good.clone(),
        good,
        facts: json!({ "replicas": replicas, "ways": Value::from(facts) }),
        findings,
    })
}
