//! A position in one field.

use super::field::Field;
use super::letters;
use super::mistake::Mistake;

/// A mistake and its position in the whole expression, in characters from 0.
pub(super) struct Fault {
    pub(super) field: Option<Field>,
    pub(super) at: usize,
    pub(super) mistake: Mistake,
}

/// One field and the position up to which it was read.
pub(super) struct Cursor<'a> {
    field: Field,
    chars: &'a [char],
    start: usize,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// `start` is the position of the field in the expression.
    pub(super) fn new(field: Field, start: usize, chars: &'a [char]) -> Self {
        Cursor { field, chars, start, at: 0 }
    }

    pub(super) fn field(&self) -> Field {
        self.field
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn text(&self) -> &'a [char] {
        self.chars
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// Consumes the character if it is the next one.
    pub(super) fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    /// Consumes the following digits, as text because there may be too many for a number.
    pub(super) fn digits(&mut self) -> String {
        let text: String = self.chars[self.at..].iter().take_while(|c| c.is_ascii_digit()).collect();
        self.at += text.len();
        text
    }

    /// The following letters, in capitals, without consuming them.
    pub(super) fn letters(&self) -> String {
        self.letters_as_written().to_ascii_uppercase()
    }

    /// The following letters, without consuming them.
    pub(super) fn letters_as_written(&self) -> String {
        self.chars[self.at..].iter().take_while(|c| c.is_ascii_alphabetic()).collect()
    }

    pub(super) fn is_end_of_item(&self) -> bool {
        matches!(self.peek(), None | Some(','))
    }

    /// Checks that only a comma follows.
    pub(super) fn end_of_item(&self) -> Result<(), Fault> {
        match self.peek() {
            Some(c) if c != ',' => Err(self.fault(letters::after_special(c))),
            _ => Ok(()),
        }
    }

    /// A mistake at the current position.
    pub(super) fn fault(&self, mistake: Mistake) -> Fault {
        self.fault_at(self.at, mistake)
    }

    /// A mistake at a position in this field.
    pub(super) fn fault_at(&self, position: usize, mistake: Mistake) -> Fault {
        Fault { field: Some(self.field), at: self.start + position, mistake }
    }
}
