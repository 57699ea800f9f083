//! Output of closings: a line for each, and a status line on a terminal.

use super::table::{Closing, Table, unusable};
use cotter_console::{Console, Failure, StatusLine};
use cotter_scheduler::UnixTime;
use serde_json::json;
use std::io::{self, Write};

pub(super) struct Show<'a> {
    console: &'a Console,
    last: i64,
    closed: u32,
    overdue: u32,
    live: StatusLine,
}

impl<'a> Show<'a> {
    pub(super) fn new(console: &'a Console, overdue: u32) -> Self {
        Self { console, last: 0, closed: 0, overdue, live: StatusLine::new(!console.quiet && !console.json) }
    }

    /// Shows new closings.
    pub(super) fn update(&mut self, table: &Table) -> Result<(), Failure> {
        let new = table.closings(self.last).map_err(unusable)?;
        self.live.clear();
        for closing in new {
            self.last = closing.id;
            self.closed += 1;
            self.line(&closing)?;
        }
        self.live.say(&format!("{} closings, {} orders become overdue", self.closed, self.overdue));
        Ok(())
    }

    fn line(&self, closing: &Closing) -> io::Result<()> {
        let Closing { order, item, quantity, replica, token, stock, .. } = closing;
        let slot = UnixTime::from_seconds(closing.slot);
        if self.console.json {
            let line = json!({
                "type": "closing", "order": order, "replica": replica, "slot": slot.to_string(),
                "token": token.map(|token| token.to_string()),
                "item": item, "quantity": quantity, "stock": stock,
            });
            return writeln!(self.console.out(), "{line}");
        }
        let token = token.map_or_else(String::new, |token| format!(", token {token}"));
        writeln!(
            self.console.out(),
            "replica {replica} closed order {order} for {slot}: {quantity} {item} returned, {stock} in stock{token}"
        )
    }
}
