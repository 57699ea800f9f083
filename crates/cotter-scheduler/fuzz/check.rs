//! What holds for any text; used by the fuzz target and by the tests.

use cotter_scheduler::{Cron, CronError, UnixTime, Zone};

/// Panics when a promise is broken.
pub(crate) fn check(text: &str) {
    for read in [str::parse::<Cron>, Cron::from_crontab] {
        match read(text) {
            Ok(cron) => check_expression(&cron, read),
            Err(error) => check_error(text, &error),
        }
    }
}

fn check_error(text: &str, error: &CronError) {
    assert!((1..=text.chars().count() + 1).contains(&error.column()), "{text:?}: {error}");
    assert!(!error.reason().is_empty() && !error.hint().is_empty(), "{text:?}: {error}");
    assert_eq!(error.expression(), text);
    assert!(error.with_caret().ends_with('^'));
}

fn check_expression(cron: &Cron, read: fn(&str) -> Result<Cron, CronError>) {
    let written = cron.to_string();
    let read = read(&written).unwrap_or_else(|error| panic!("{written:?}: {error}"));
    assert_eq!(&read, cron, "{written:?}");
    assert_eq!(read.to_string(), written);
    assert!(!cron.describe().is_empty());
    let zones = ["UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"];
    // Some instant that depends on the expression, so that the inputs spread over the years.
    let hash = written.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(1_000_003) ^ u64::from(byte));
    let at = UnixTime::from_seconds((hash % 4_102_444_800) as i64);
    for name in zones {
        check_instants(cron, &Zone::named(name).unwrap(), at);
    }
}

fn check_instants(cron: &Cron, zone: &Zone, at: UnixTime) {
    if let Some(next) = cron.next(at, zone) {
        assert!(next > at, "{cron} {zone} {at}: {next}");
        assert!(cron.fires_at(next, zone), "{cron} {zone} {next}");
        let after = UnixTime::from_seconds(next.seconds() + 1);
        assert_eq!(cron.previous(after, zone), Some(next), "{cron} {zone}");
        assert!(cron.previous(next, zone) <= Some(at), "{cron} {zone} {at}");
    }
    if let Some(previous) = cron.previous(at, zone) {
        assert!(previous < at, "{cron} {zone} {at}: {previous}");
        assert!(cron.fires_at(previous, zone), "{cron} {zone} {previous}");
        assert!(cron.next(previous, zone).is_none_or(|next| next >= at), "{cron} {zone} {at}");
    }
}
