//! Parsing of RFC 3339.

use std::fmt;
use std::str::FromStr;

use super::civil::{self, DAY, Date};
use super::unix_time::UnixTime;

/// The error for text that is not an RFC 3339 instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeError {
    text: String,
    column: usize,
    reason: String,
}

impl TimeError {
    /// Returns the column of the mistake, in characters, counting from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// Returns the reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimeError { text, column, reason } = self;
        write!(f, "{text:?} is not an RFC 3339 instant: {reason} at column {column}; ")?;
        f.write_str("write it like 2024-03-10T07:00:00Z or 2024-03-10T03:00:00-04:00")
    }
}

impl std::error::Error for TimeError {}

impl FromStr for UnixTime {
    type Err = TimeError;

    /// Parses `2024-03-10T07:00:00Z`, with an optional fraction and with `Z` or an offset such as `-04:00`.
    ///
    /// A blank is accepted in place of the `T`. A leap second (`:60`) is the first second of the next minute. Digits finer than
    /// nanoseconds are dropped.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let mut reader = Reader { text, at: 0 };
        reader.instant().map_err(|reason| TimeError {
            text: text.to_owned(),
            column: text[..reader.at].chars().count() + 1,
            reason,
        })
    }
}

/// `at` is the beginning of the part that is being parsed, so that a mistake is reported there.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn instant(&mut self) -> Result<UnixTime, String> {
        let year = i64::from(self.number("the year", 4, 0, 9999)?);
        self.one_of("-")?;
        let month = self.number("the month", 2, 1, 12)?;
        self.one_of("-")?;
        let day = self.number("the day", 2, 1, civil::month_length(year, month))?;
        self.one_of("Tt ")?;
        let hour = self.number("the hour", 2, 0, 23)?;
        self.one_of(":")?;
        let minute = self.number("the minute", 2, 0, 59)?;
        self.one_of(":")?;
        let second = self.number("the second", 2, 0, 60)?;
        let nanos = self.fraction()?;
        let offset = self.offset()?;
        if self.at < self.text.len() {
            return Err("unexpected text".to_owned());
        }
        let days = civil::days_from(Date { year, month, day });
        let time = i64::from(hour * 3600 + minute * 60 + second);
        Ok(UnixTime::new(days * DAY + time - offset, nanos))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn number(&mut self, what: &str, digits: usize, min: u32, max: u32) -> Result<u32, String> {
        let text = self.text.as_bytes().get(self.at..self.at + digits);
        let digit = |b: &u8| b.is_ascii_digit();
        let text = text
            .filter(|text| text.iter().all(digit))
            .ok_or_else(|| format!("expected {what} ({digits} digits)"))?;
        let number = text.iter().fold(0, |n, b| n * 10 + u32::from(b - b'0'));
        if !(min..=max).contains(&number) {
            return Err(format!("{what} must be {min:02} to {max:02}"));
        }
        self.at += digits;
        Ok(number)
    }

    fn one_of(&mut self, allowed: &str) -> Result<char, String> {
        match self.peek().map(char::from).filter(|&c| allowed.contains(c)) {
            Some(c) => {
                self.at += 1;
                Ok(c)
            }
            None => Err(format!("expected `{}`", &allowed[..1])),
        }
    }

    fn fraction(&mut self) -> Result<u32, String> {
        if self.peek() != Some(b'.') {
            return Ok(0);
        }
        self.at += 1;
        let digits = self.text[self.at..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err("expected the digits of the fraction".to_owned());
        }
        let nanos = self.text[self.at..self.at + digits.min(9)].bytes();
        let nanos = nanos.chain([b'0'; 9]).take(9).fold(0, |n, b| n * 10 + u32::from(b - b'0'));
        self.at += digits;
        Ok(nanos)
    }

    /// `Z`, or hours and minutes ahead of UTC; in seconds.
    fn offset(&mut self) -> Result<i64, String> {
        let sign =
            self.one_of("Zz+-").map_err(|_| "expected `Z` or an offset such as `+02:00`".to_owned())?;
        if matches!(sign, 'Z' | 'z') {
            return Ok(0);
        }
        let hours = self.number("the hour of the offset", 2, 0, 23)?;
        self.one_of(":")?;
        let minutes = self.number("the minute of the offset", 2, 0, 59)?;
        let offset = i64::from(hours * 3600 + minutes * 60);
        Ok(if sign == '-' { -offset } else { offset })
    }
}
