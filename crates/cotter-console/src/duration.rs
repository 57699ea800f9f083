//! Parsing and formatting of durations.

use jiff::{SignedDuration, Span, SpanRelativeTo};
use std::time::{Duration, SystemTime};

/// Longer than any useful lock; sums of durations stay far from overflow.
const MAX_DURATION: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// Parses `5s`, `500ms`, `1m30s` or `PT5S`. A unit is required: `sleep 5` and `setTimeout(5)` mean different things.
pub fn parse(text: &str) -> Result<Duration, String> {
    let bare = text.trim();
    if bare.parse::<f64>().is_ok() {
        return Err(format!("a duration needs a unit: write {bare}s or {bare}ms"));
    }
    let signed = bare.parse().or_else(|_| with_days(bare));
    let signed = signed.map_err(|_| "not a duration: write it like 5s, 500ms, 1m30s or PT5S".to_owned())?;
    let duration =
        Duration::try_from(signed).map_err(|_| "a duration cannot be negative: write 5s".to_owned())?;
    if duration > MAX_DURATION {
        return Err("a duration of more than ten years is not supported".to_owned());
    }
    Ok(duration)
}

/// A duration with days or weeks, of 24 hours a day.
fn with_days(text: &str) -> Result<SignedDuration, jiff::Error> {
    text.parse::<Span>()?.to_duration(SpanRelativeTo::days_are_24_hours())
}

/// The same, but zero is an error.
pub fn parse_positive(text: &str) -> Result<Duration, String> {
    match parse(text)? {
        Duration::ZERO => Err("a duration of zero is not allowed here".to_owned()),
        duration => Ok(duration),
    }
}

/// Formats a duration for people, in the two largest units, and below ten seconds with tenths: `250 ms`, `1.2 s`, `42 s`, `3 min 5 s`, `2 h 10 min`, `5 d 3 h`.
pub fn words(duration: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let (total, tenths) = (duration.as_secs(), duration.subsec_millis() / 100);
    if (1..10).contains(&total) && tenths > 0 {
        return format!("{total}.{tenths} s");
    }
    let Some(first) = UNITS.iter().position(|(seconds, _)| total >= *seconds) else {
        return format!("{} ms", duration.as_millis());
    };
    let mut rest = total;
    let mut parts = Vec::new();
    for (seconds, unit) in UNITS.iter().skip(first).take(2) {
        if rest >= *seconds {
            parts.push(format!("{} {unit}", rest / seconds));
        }
        rest %= seconds;
    }
    parts.join(" ")
}

/// An instant for people, from another one: `in 4 s`, `3 min 5 s ago`, `now`.
pub fn relative(is_past: bool, distance: Duration) -> String {
    match (is_past, distance.as_millis()) {
        (_, 0..500) => "now".to_owned(),
        (true, _) => format!("{} ago", words(distance)),
        (false, _) => format!("in {}", words(distance)),
    }
}

/// As an argument of another process of this program: nothing is rounded, least of all to zero.
pub fn exact(duration: Duration) -> String {
    format!("{}ns", duration.as_nanos())
}

/// Whole milliseconds, for programs.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The time since an instant; zero if the clock was stepped back.
pub fn since(then: SystemTime) -> Duration {
    SystemTime::now().duration_since(then).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_carries_a_unit() {
        for (text, millis) in
            [("5s", 5_000), ("500ms", 500), ("1m30s", 90_000), ("PT5S", 5_000), ("2h", 7_200_000), ("0s", 0)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for (text, hours) in [("30d", 720), ("1w", 168), ("1d12h", 36), ("P2D", 48)] {
            assert_eq!(parse(text), Ok(Duration::from_secs(hours * 3600)), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_what_to_write() {
        for (text, says) in [
            ("5", "write 5s or 5ms"),
            ("0", "write 0s or 0ms"),
            ("1.5", "write 1.5s or 1.5ms"),
            ("-5s", "negative"),
            ("-5", "unit"),
            ("", "not a duration"),
            ("soon", "not a duration"),
            ("5 parsecs", "not a duration"),
            ("1mo", "not a duration"),
            ("-5d", "negative"),
            ("1000000h", "ten years"),
            ("100000000000h", "ten years"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
        assert!(parse_positive("0s").unwrap_err().contains("zero"));
    }

    #[test]
    fn what_is_passed_on_arrives_as_it_was() {
        for duration in [Duration::ZERO, Duration::from_nanos(1), Duration::from_micros(1_500), MAX_DURATION]
        {
            assert_eq!(parse(&exact(duration)), Ok(duration));
        }
    }

    #[test]
    fn words_name_the_two_largest_units() {
        for (seconds, text) in [
            (0, "0 ms"),
            (42, "42 s"),
            (185, "3 min 5 s"),
            (180, "3 min"),
            (7_800, "2 h 10 min"),
            (3_605, "1 h"),
            (442_800, "5 d 3 h"),
        ] {
            assert_eq!(words(Duration::from_secs(seconds)), text);
        }
        for (millis, text) in
            [(250, "250 ms"), (1_000, "1 s"), (1_290, "1.2 s"), (9_999, "9.9 s"), (10_900, "10 s")]
        {
            assert_eq!(words(Duration::from_millis(millis)), text);
        }
    }
}
