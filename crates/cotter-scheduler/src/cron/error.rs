//! The error of parsing an expression.

use std::fmt;

use super::field::Field;
use super::mistake::Mistake;

/// An expression that is not in the dialect: which field, where, why, and what to write instead.
///
/// ```
/// use cotter_scheduler::{Cron, Field};
///
/// let error = "0 60 * * * ?".parse::<Cron>().unwrap_err();
/// assert_eq!(error.field(), Some(Field::Minutes));
/// assert_eq!(error.column(), 3);
/// assert_eq!(error.to_string(), "minutes, column 3: 60 is out of range; write a number from 0 to 59");
/// assert_eq!(error.with_caret(), "0 60 * * * ?\n  ^");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronError {
    expression: String,
    field: Option<Field>,
    column: usize,
    reason: String,
    hint: String,
}

impl CronError {
    /// `at` counts characters from 0.
    pub(crate) fn new(expression: &str, field: Option<Field>, at: usize, mistake: Mistake) -> Self {
        let Mistake { reason, hint } = mistake;
        CronError { expression: expression.to_owned(), field, column: at + 1, reason, hint }
    }

    /// Returns the field with the mistake; `None` if it concerns the expression as a whole.
    pub fn field(&self) -> Option<Field> {
        self.field
    }

    /// Returns the column at which the mistake begins, in characters, counting from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// Returns the reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns what to write instead.
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// Returns the expression as given.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Returns two lines for a terminal: the expression, and a caret under the column.
    ///
    /// Control characters, including tabs, are shown as one blank each, so that the caret is aligned.
    pub fn with_caret(&self) -> String {
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let expression: String = self.expression.chars().map(shown).collect();
        format!("{expression}\n{:>width$}", '^', width = self.column)
    }
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = self.field {
            write!(f, "{field}, ")?;
        }
        write!(f, "column {}: {}; {}", self.column, self.reason, self.hint)
    }
}

impl std::error::Error for CronError {}
