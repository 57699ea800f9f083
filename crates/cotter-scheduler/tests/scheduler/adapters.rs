//! Instants of date crates, with the features of their names.

use cotter_scheduler::UnixTime;

const TIMES: [UnixTime; 4] = [
    UnixTime::EPOCH,
    UnixTime::new(-1, 999_999_999),
    UnixTime::new(-5, 0),
    UnixTime::new(4_102_444_799, 123_456_789),
];

#[test]
fn chrono() {
    for time in TIMES {
        let date = chrono::DateTime::<chrono::Utc>::try_from(time).unwrap();
        assert_eq!(UnixTime::from(date), time);
        assert_eq!(UnixTime::from(date.with_timezone(&chrono_tz::Asia::Tokyo)), time);
    }
    assert!(chrono::DateTime::<chrono::Utc>::try_from(UnixTime::from_seconds(i64::MAX)).is_err());
}

#[test]
fn jiff() {
    for time in TIMES {
        assert_eq!(UnixTime::from(jiff::Timestamp::try_from(time).unwrap()), time);
    }
    assert!(jiff::Timestamp::try_from(UnixTime::from_seconds(i64::MAX)).is_err());
}
