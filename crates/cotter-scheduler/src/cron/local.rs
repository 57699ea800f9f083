//! Instants as local time, and how instants are written.

use std::fmt;

use super::civil::{self, DAY, Date};
use super::unix_time::UnixTime;

/// An instant with the UTC offset of a time zone, for display; created by [`Zone::local`](super::Zone::local).
///
/// `Display` writes RFC 3339 with the offset, such as `2024-03-10T03:00:00-04:00`. If an offset has seconds (Liberia
/// until 1972), they are written too, although RFC 3339 has no form for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    instant: UnixTime,
    offset: i32,
}

impl LocalTime {
    pub(crate) fn new(instant: UnixTime, offset: i32) -> Self {
        LocalTime { instant, offset }
    }

    /// Returns the instant.
    pub fn instant(self) -> UnixTime {
        self.instant
    }

    /// Returns how many seconds the local clock is ahead of UTC.
    pub fn offset_seconds(self) -> i32 {
        self.offset
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_clock(f, self.instant, self.offset)?;
        let sign = if self.offset < 0 { '-' } else { '+' };
        let offset = self.offset.unsigned_abs();
        write!(f, "{sign}{:02}:{:02}", offset / 3600, offset / 60 % 60)?;
        if !offset.is_multiple_of(60) {
            write!(f, ":{:02}", offset % 60)?;
        }
        Ok(())
    }
}

impl fmt::Display for UnixTime {
    /// RFC 3339 in UTC: `2024-03-10T07:00:00Z`, with a fraction only if there is one. `{:.3}` always writes milliseconds and
    /// drops what is finer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_clock(f, *self, 0)?;
        f.write_str("Z")
    }
}

/// Date and time at an offset, without writing the offset.
fn write_clock(f: &mut fmt::Formatter<'_>, instant: UnixTime, offset: i32) -> fmt::Result {
    let local = instant.seconds().saturating_add(offset.into());
    let Date { year, month, day } = civil::date_of(local.div_euclid(DAY));
    let time = local.rem_euclid(DAY);
    match year {
        0..=9999 => write!(f, "{year:04}")?,
        _ => write!(f, "{year:+07}")?,
    }
    write!(f, "-{month:02}-{day:02}T{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)?;
    let nanos = format!("{:09}", instant.subsec_nanos());
    let fraction = match f.precision() {
        Some(digits) => &nanos[..digits.min(9)],
        None => nanos.trim_end_matches('0'),
    };
    if !fraction.is_empty() {
        write!(f, ".{fraction}")?;
    }
    Ok(())
}
