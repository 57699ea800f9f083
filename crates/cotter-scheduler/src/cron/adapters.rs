//! Conversions between [`UnixTime`](super::UnixTime) and the instants of date crates.

#[cfg(feature = "chrono")]
mod chrono {
    use chrono::{DateTime, TimeZone, Utc};

    use crate::cron::{RangeError, UnixTime};

    impl<Z: TimeZone> From<DateTime<Z>> for UnixTime {
        fn from(time: DateTime<Z>) -> Self {
            UnixTime::new(time.timestamp(), time.timestamp_subsec_nanos())
        }
    }

    impl TryFrom<UnixTime> for DateTime<Utc> {
        type Error = RangeError;

        fn try_from(time: UnixTime) -> Result<Self, RangeError> {
            DateTime::from_timestamp(time.seconds(), time.subsec_nanos()).ok_or(RangeError(()))
        }
    }
}

#[cfg(feature = "jiff")]
mod jiff {
    use jiff::Timestamp;

    use crate::cron::{RangeError, UnixTime};

    impl From<Timestamp> for UnixTime {
        fn from(time: Timestamp) -> Self {
            let nanos = time.as_nanosecond();
            let second = i128::from(1_000_000_000);
            UnixTime::new(nanos.div_euclid(second) as i64, nanos.rem_euclid(second) as u32)
        }
    }

    impl TryFrom<UnixTime> for Timestamp {
        type Error = RangeError;

        fn try_from(time: UnixTime) -> Result<Self, RangeError> {
            Timestamp::new(time.seconds(), time.subsec_nanos() as i32).map_err(|_| RangeError(()))
        }
    }
}
