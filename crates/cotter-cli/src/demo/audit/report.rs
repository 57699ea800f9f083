//! What the audit prints.

use super::{Book, Finding};
use crate::output::{Console, Failure, clean};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;

#[derive(Debug)]
pub(in super::super) struct Report {
    buyers: u32,
    stock: u32,
    sold: usize,
    sold_out: usize,
    answered: usize,
    with_tokens: bool,
    pub(super) findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(book: &Book, buyers: u32, stock: u32, findings: Vec<Finding>) -> Self {
        let answered = book.answers().collect::<BTreeSet<_>>().len();
        let with_tokens = !book.sales.is_empty() && book.sales.iter().all(|sold| sold.token.is_some());
        let (sold, sold_out) = (book.sales.len(), book.sold_out.len());
        Self { buyers, stock, sold, sold_out, answered, with_tokens, findings }
    }

    pub(in super::super) fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    pub(in super::super) fn print(&self, console: &Console) -> Result<(), Failure> {
        let text = if console.json { self.json() } else { self.text() };
        console.out().write_all(text.as_bytes())?;
        Ok(())
    }

    fn json(&self) -> String {
        let findings: Vec<_> =
            self.findings.iter().map(|f| json!({ "kind": f.kind, "message": f.text })).collect();
        let report = json!({
            "type": "audit",
            "clean": self.is_clean(),
            "buyers": self.buyers,
            "stock": self.stock,
            "sold": self.sold,
            "sold_out": self.sold_out,
            "answered": self.answered,
            "findings": findings,
        });
        format!("{report}\n")
    }

    pub(super) fn text(&self) -> String {
        let Self { buyers, stock, sold, sold_out, answered, .. } = self;
        if self.is_clean() {
            let tokens = if self.with_tokens { ", tokens rising" } else { "" };
            return format!(
                "audit: clean: sold {sold} of {stock}, in order{tokens}; {sold_out} told \"sold out\"; \
                 {answered} of {buyers} answered\n"
            );
        }
        let mut text = format!(
            "audit: FAILED: sold {sold} of {stock}; {sold_out} told \"sold out\"; {answered} of {buyers} answered\n"
        );
        for finding in &self.findings {
            text.push_str(&format!("  {}\n", clean(&finding.text)));
        }
        text
    }
}
