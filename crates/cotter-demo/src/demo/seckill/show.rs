//! Output of sales, from the log: a line for each, and a status line on a terminal.

use super::Seckill;
use super::log::{self, Entry, Sold};
use cotter_console::{Console, Failure, StatusLine, clean};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

pub(super) struct Show<'a> {
    console: &'a Console,
    item: String,
    buyers: u32,
    log: BufReader<File>,
    /// An incomplete line.
    part: String,
    answered: u32,
    sold: u32,
    live: StatusLine,
}

impl<'a> Show<'a> {
    pub(super) fn new(args: &Seckill, console: &'a Console, dir: &Path) -> io::Result<Self> {
        let log = BufReader::new(File::open(log::path(dir))?);
        let live = StatusLine::new(!console.quiet && !console.json);
        let item = clean(&args.sale.item);
        Ok(Self { console, item, buyers: args.buyers, log, part: String::new(), answered: 0, sold: 0, live })
    }

    /// Shows new sales.
    pub(super) fn update(&mut self) -> Result<(), Failure> {
        self.live.clear();
        while self.log.read_line(&mut self.part)? > 0 && self.part.ends_with('\n') {
            let line = std::mem::take(&mut self.part);
            // The audit finds lines that cannot be parsed.
            if let Ok(entry) = serde_json::from_str(&line) {
                self.entry(&entry)?;
            }
        }
        let (answered, buyers, sold) = (self.answered, self.buyers, self.sold);
        self.live.say(&format!("{answered} of {buyers} answered, {sold} sold"));
        Ok(())
    }

    fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Sale(sold) => {
                self.answered += 1;
                self.sold += 1;
                self.sale(sold)
            }
            Entry::SoldOut { .. } => {
                self.answered += 1;
                Ok(())
            }
            Entry::Failed { .. } | Entry::WrongRelease { .. } => Ok(()),
        }
    }

    fn sale(&self, sold: &Sold) -> io::Result<()> {
        let Sold { buyer, process, remaining, token, .. } = sold;
        if self.console.json {
            let sale = json!({
                "type": "sale", "buyer": buyer, "process": process, "remaining": remaining,
                "token": token.map(|token| token.to_string()),
            });
            return writeln!(self.console.out(), "{sale}");
        }
        let token = token.map_or_else(String::new, |token| format!(", token {token}"));
        writeln!(self.console.out(), "buyer {buyer} bought {}: {remaining} left{token}", self.item)
    }
}
