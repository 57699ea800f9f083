//! Whether what was believed was right.
//!
//! | file | concept |
//! |---|---|
//! | `violation` | the kinds of violations |
//! | `overlap` | two that believed to hold one name at once, or more than it has permits |
//! | `tokens` | unique, and rising |
//! | `idle` | who waited while nobody held the name, and what was left behind |
//! | `figures` | how much happened, and whether that is enough |

mod figures;
mod idle;
mod overlap;
mod tokens;
mod violation;

pub use figures::{Figures, Needed};
pub use violation::{Kind, Violation};

use crate::history::Believed;

/// The judgement of a run.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// What is wrong, in the order of its beginning.
    pub violations: Vec<Violation>,
    /// Why the run proves nothing, if that is so.
    pub void: Vec<String>,
    /// How much happened.
    pub figures: Figures,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Enough happened, and nothing was wrong.
    Passed,
    /// Something was wrong.
    Failed,
    /// Too little happened to prove anything.
    Void,
}

impl Verdict {
    /// What is wrong counts, however little happened.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match (self.violations.is_empty(), self.void.is_empty()) {
            (false, _) => Outcome::Failed,
            (true, false) => Outcome::Void,
            (true, true) => Outcome::Passed,
        }
    }
}

/// Judges a run.
#[must_use]
pub fn judge(run: &Believed, needed: Needed) -> Verdict {
    let mut violations = overlap::check(run);
    violations.extend(tokens::check(run));
    violations.extend(idle::check(run));
    violations.sort_by_key(|violation| violation.from);
    let figures = Figures::of(run);
    Verdict { violations, void: figures.lacks(run, needed), figures }
}

#[cfg(test)]
mod tests;
