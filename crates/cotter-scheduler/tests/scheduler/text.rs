//! The canonical form, the description, and reading and writing instants.

use cotter_scheduler::{Cron, UnixTime, Zone};

fn cron(expression: &str) -> Cron {
    expression.parse().unwrap_or_else(|error| panic!("{expression}: {error}"))
}

#[test]
fn the_canonical_form_reads_back_as_the_same() {
    let forms = [
        ("0 0 2 1 * ? *", "0 0 2 1 * ?"),
        ("  00  5/15 */2 ?  jan-Mar/2  mon-6 ", "0 5/15 */2 ? JAN-MAR/2 MON-FRI"),
        ("* * * * * *", "* * * * * ?"),
        ("* * * ? * *", "* * * * * ?"),
        ("/5 0 0 L,LW,L-3,L-3W,15W,L-0 * ?", "*/5 0 0 L,LW,L-3,L-3W,15W,L * ?"),
        ("0 0 0 ? * L", "0 0 0 ? * SAT"),
        ("0 0 0 ? * 6L,fril,2#1,SUN/3 2020-2030/2,2050", "0 0 0 ? * FRIL,FRIL,MON#1,SUN/3 2020-2030/2,2050"),
        ("0 0 0 5C * ?", "0 0 0 5 * ?"),
        ("*,5 0 0 ? * 1C", "*,5 0 0 ? * SUN"),
    ];
    for (written, canonical) in forms {
        let read = cron(written);
        assert_eq!(read.to_string(), canonical);
        assert_eq!(cron(canonical), read);
    }
    assert_ne!(cron("0 0 0 ? * MON,TUE"), cron("0 0 0 ? * MON-TUE"), "equal means written alike");
    assert_eq!(format!("{:?}", cron("0 0 0 1 * *")), "Cron(0 0 0 1 * ?)");
}

#[test]
fn descriptions() {
    let described = [
        ("* * * * * ?", "Every second"),
        ("0/2 * * * * ?", "Every 2 seconds"),
        ("5/15 * * * * ?", "Every 15 seconds from second 5 on"),
        ("30 * * * * ?", "At second 30 of every minute"),
        ("0 * * * * ?", "Every minute"),
        ("0 0/5 * * * ?", "Every 5 minutes"),
        ("0 0/5 14 * * ?", "Every 5 minutes of hour 14"),
        ("0 0/5 14,18 * * ?", "Every 5 minutes of hours 14 and 18"),
        ("0 0-5 14 * * ?", "Every minute from 0 through 5 of hour 14"),
        ("0 0 * * * ?", "Every hour"),
        ("0 30 * * * ?", "At minute 30 of every hour"),
        ("15 30 * * * ?", "At second 15 of minute 30 of every hour"),
        ("0 0 0/6 * * ?", "Every 6 hours"),
        ("0 30 0/6 * * ?", "At minute 30 of every 6th hour"),
        ("0 0 9-21 * * 2-7", "Every hour from 9 through 21, Monday through Saturday"),
        ("* 5 3 * * ?", "Every second of minute 5 of hour 3"),
        ("0 15 10 * * ?", "At 10:15:00, every day"),
        ("0 10,44 14 ? 3 WED", "At 14:10:00 and 14:44:00, on Wednesday, in March"),
        ("0 15 10 ? * 6L 2002-2006", "At 10:15:00, on the last Friday of the month, in 2002 through 2006"),
        ("0 15 10 ? * 6#3", "At 10:15:00, on the 3rd Friday of the month"),
        ("0 0 2 1,15,L * ?", "At 02:00:00, on the 1st, the 15th and the last day of the month"),
        ("0 0 2 LW * ?", "At 02:00:00, on the last weekday of the month"),
        ("0 0 2 L-3W * ?", "At 02:00:00, on the weekday nearest to 3 days before the last day of the month"),
        ("0 0 2 L-1 * ?", "At 02:00:00, on the day before the last day of the month"),
        ("0 0 2 15W * ?", "At 02:00:00, on the weekday nearest to the 15th of the month"),
        (
            "0 0 2 1-7 1/3 ?",
            "At 02:00:00, on the 1st through the 7th of the month, in every 3rd month from January on",
        ),
        ("0 0 2 ? NOV-FEB *", "At 02:00:00, every day, in November through February"),
        ("0 0 2 1/5 * ?", "At 02:00:00, on every 5th day from day 1 on of the month"),
        (
            "0 0 2 ? * MON,WED,FRI 2024/2",
            "At 02:00:00, on Monday, Wednesday and Friday, in every 2nd year from 2024 on",
        ),
    ];
    for (expression, text) in described {
        assert_eq!(cron(expression).describe(), text, "{expression}");
    }
}

#[test]
fn instants_are_read() {
    let seconds = |text: &str| text.parse::<UnixTime>().map(|at| (at.seconds(), at.subsec_nanos()));
    assert_eq!(seconds("1970-01-01T00:00:00Z"), Ok((0, 0)));
    assert_eq!(seconds("1970-01-01t01:00:00+01:00"), Ok((0, 0)));
    assert_eq!(seconds("1969-12-31 19:30:00.5-04:30"), Ok((0, 500_000_000)));
    assert_eq!(seconds("2016-12-31T23:59:60Z"), Ok((1_483_228_800, 0)), "a leap second");
    assert_eq!(seconds("0000-01-01T00:00:00Z"), Ok((-62_167_219_200, 0)));
    assert_eq!(seconds("1970-01-01T00:00:00.1234567899Z"), Ok((0, 123_456_789)));
}

#[test]
fn instants_are_written() {
    for text in
        ["2024-02-29T23:59:59Z", "1969-12-31T23:59:59.25Z", "0000-03-01T00:00:00Z", "9999-12-31T23:59:59Z"]
    {
        assert_eq!(text.parse::<UnixTime>().unwrap().to_string(), text);
    }
    assert_eq!(UnixTime::from_seconds(253_402_300_800).to_string(), "+010000-01-01T00:00:00Z");
    let cut = |nanos: u32| format!("{:.3}", UnixTime::new(0, nanos));
    assert_eq!(cut(123_999_999), "1970-01-01T00:00:00.123Z");
    assert_eq!([cut(120_000_001), cut(999_999)], ["1970-01-01T00:00:00.120Z", "1970-01-01T00:00:00.000Z"]);
    let local = |zone: &str, text: &str| Zone::named(zone).unwrap().local(text.parse().unwrap()).to_string();
    assert_eq!(local("Asia/Kathmandu", "2024-01-01T00:00:00Z"), "2024-01-01T05:45:00+05:45");
    assert_eq!(local("Africa/Monrovia", "1971-01-01T00:00:00Z"), "1970-12-31T23:15:30-00:44:30");
}

#[test]
fn mistakes_in_instants() {
    let mistakes = [
        ("", 1, "expected the year (4 digits)"),
        ("24-01-01T00:00:00Z", 1, "expected the year (4 digits)"),
        ("2024/01/01", 5, "expected `-`"),
        ("2024-13-01T00:00:00Z", 6, "the month must be 01 to 12"),
        ("2023-02-29T00:00:00Z", 9, "the day must be 01 to 28"),
        ("2024-01-01", 11, "expected `T`"),
        ("2024-01-01T24:00:00Z", 12, "the hour must be 00 to 23"),
        ("2024-01-01T00:60:00Z", 15, "the minute must be 00 to 59"),
        ("2024-01-01T00:00", 17, "expected `:`"),
        ("2024-01-01T00:00:61Z", 18, "the second must be 00 to 60"),
        ("2024-01-01T00:00:00", 20, "expected `Z` or an offset such as `+02:00`"),
        ("2024-01-01T00:00:00.Z", 21, "expected the digits of the fraction"),
        ("2024-01-01T00:00:00+24:00", 21, "the hour of the offset must be 00 to 23"),
        ("2024-01-01T00:00:00+0100", 23, "expected `:`"),
        ("2024-01-01T00:00:00+01:60", 24, "the minute of the offset must be 00 to 59"),
        ("2024-01-01T00:00:00Z!", 21, "unexpected text"),
        ("2024-01-01T00:00:00é", 20, "expected `Z` or an offset such as `+02:00`"),
        ("２024-01-01T00:00:00Z", 1, "expected the year (4 digits)"),
    ];
    for (text, column, reason) in mistakes {
        let error = text.parse::<UnixTime>().unwrap_err();
        assert_eq!((error.column(), error.reason()), (column, reason), "{text}");
    }
    let error = "x".parse::<UnixTime>().unwrap_err().to_string();
    let expected = "\"x\" is not an RFC 3339 instant: expected the year (4 digits) at column 1; \
                    write it like 2024-03-10T07:00:00Z or 2024-03-10T03:00:00-04:00";
    assert_eq!(error, expected);
}

#[test]
fn zones_by_name() {
    assert_eq!(Zone::named("asia/SHANGHAI").unwrap().name(), "Asia/Shanghai");
    assert_eq!(Zone::named("UTC").unwrap(), Zone::utc());
    let error = |name: &str| Zone::named(name).unwrap_err().to_string();
    assert_eq!(error("Europe/Lodon"), "unknown time zone \"Europe/Lodon\"; did you mean Europe/London?");
    let unknown = "unknown time zone \"Mars/Olympus\"; write an IANA name such as Europe/London, or UTC";
    assert_eq!(error("Mars/Olympus"), unknown);
    assert_eq!(Zone::named("").unwrap_err().name(), "");
}

#[test]
fn everything_can_go_to_another_thread() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Cron>();
    shared::<Zone>();
    shared::<UnixTime>();
    shared::<cotter_scheduler::CronError>();
}
