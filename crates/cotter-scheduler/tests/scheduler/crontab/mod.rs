//! The five fields of crontabs: what they mean, by hand, and how they are written.

mod croner;
mod mistakes;

use cotter_scheduler::{Cron, Trigger, UnixTime, Zone};

fn crontab(line: &str) -> Cron {
    Cron::from_crontab(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The first instants after one, in UTC, without the seconds.
fn next(line: &str, after: &str, count: usize) -> Vec<String> {
    let (cron, utc) = (crontab(line), Zone::utc());
    let found = cron.after(after.parse().unwrap(), &utc).take(count);
    found.map(|at| at.to_string().replace(":00Z", "")).collect()
}

/// The days of June 2024, which began on a Saturday.
fn june(line: &str) -> Vec<u32> {
    let (cron, utc) = (crontab(line), Zone::utc());
    let end: UnixTime = "2024-07-01T00:00:00Z".parse().unwrap();
    let found = cron.after("2024-05-31T23:59:59Z".parse().unwrap(), &utc).take_while(|at| *at < end);
    found.map(|at| at.to_string()[8..10].parse().unwrap()).collect()
}

#[test]
fn the_minute_is_the_first_field() {
    assert_eq!(next("30 9 * * *", "2024-06-01T09:30:00Z", 2), ["2024-06-02T09:30", "2024-06-03T09:30"]);
    let quarters = ["2024-06-01T22:45", "2024-06-01T23:00", "2024-06-01T23:15"];
    assert_eq!(next("*/15 * * * *", "2024-06-01T22:31:00Z", 3), quarters);
    assert_eq!(
        next("5 0-23/12 1 jan *", "2024-06-01T00:00:00Z", 2),
        ["2025-01-01T00:05", "2025-01-01T12:05"]
    );
}

#[test]
fn sunday_is_0_and_7() {
    for sunday in ["0", "7", "sun", "SUN", "0-0", "7-7", "sun-sun", "7-sun", "0,7", "*/7", "0-7/7"] {
        assert_eq!(june(&format!("0 0 * * {sunday}")), [2, 9, 16, 23, 30], "{sunday}");
    }
    for week in ["1-5", "mon-fri", "1-FRI", "1,2,3,4,5"] {
        let days: Vec<u32> = (3..=7).chain(10..=14).chain(17..=21).chain(24..=28).collect();
        assert_eq!(june(&format!("0 0 * * {week}")), days, "{week}");
    }
    let weekend = [1, 2, 8, 9, 15, 16, 22, 23, 29, 30];
    for days in ["6-7", "sat-sun", "6,0", "sat,7", "sat-7"] {
        assert_eq!(june(&format!("0 0 * * {days}")), weekend, "{days}");
    }
    for all in ["*", "0-6", "1-7", "0-7", "mon-sun", "sun-sat", "*/1"] {
        assert_eq!(june(&format!("0 0 * * {all}")).len(), 30, "{all}");
    }
    let every_second = [1, 2, 4, 6, 8, 9, 11, 13, 15, 16, 18, 20, 22, 23, 25, 27, 29, 30];
    for days in ["*/2", "0-7/2", "0-6/2"] {
        assert_eq!(june(&format!("0 0 * * {days}")), every_second, "Sunday, Tuesday, Thursday, Saturday");
    }
    assert_eq!(june("0 0 * * 1-7/3"), [2, 3, 6, 9, 10, 13, 16, 17, 20, 23, 24, 27, 30], "1, 4 and 7");
}

#[test]
fn either_of_two_restricted_day_fields_is_enough() {
    assert_eq!(june("0 0 13 * 5"), [7, 13, 14, 21, 28]);
    assert_eq!(june("0 0 1-3,30 * mon,5"), [1, 2, 3, 7, 10, 14, 17, 21, 24, 28, 30]);
    assert_eq!(june("0 0 1-31 * 5").len(), 30, "all days of the month, but no `*`");
    assert_eq!(june("0 0 13,* * 5").len(), 30, "it does not begin with `*`");
    assert_eq!(june("0 0 31 * 5"), [7, 14, 21, 28], "a day that this month does not have");
    assert_eq!(next("0 0 30 2 5", "2024-01-31T00:00:00Z", 2), ["2024-02-02T00:00", "2024-02-09T00:00"]);
}

/// As in Vixie's cron, where a flag says that the field begins with `*`, and not that it matches every day.
#[test]
fn a_day_field_that_begins_with_a_star_is_not_restricted() {
    assert_eq!(june("0 0 * * 5"), [7, 14, 21, 28]);
    assert_eq!(june("0 0 13 * *"), [13]);
    assert_eq!(june("0 0 */2 * 5"), [7, 21], "odd days that are Fridays");
    assert_eq!(june("0 0 10-20 * */3"), [12, 15, 16, 19], "Sunday, Wednesday and Saturday");
    assert_eq!(june("0 0 */10 * */3"), [1], "1, 11 and 21 June are a Saturday, a Tuesday and a Friday");
    assert_eq!(june("0 0 *,13 * 5"), [7, 14, 21, 28]);
    assert_eq!(june("0 0 */2,14 * 5"), [7, 14, 21]);
}

#[test]
fn nicknames() {
    for (name, line) in [
        ("@yearly", "0 0 1 JAN *"),
        ("@annually", "0 0 1 JAN *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * SUN"),
        ("@daily", "0 0 * * *"),
        (" @Midnight ", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ] {
        assert_eq!(crontab(name).to_string(), line);
        assert_eq!(crontab(name), crontab(line));
    }
}

#[test]
fn the_canonical_form_reads_back_as_the_same() {
    for (written, canonical) in [
        ("  00\t9  * * 1-5 ", "0 9 * * MON-FRI"),
        ("*/5 0-23 1-31/2 jan,2 0", "*/5 0-23 1-31/2 JAN,FEB SUN"),
        ("0 0 13 * 5-7", "0 0 13 * FRI-SUN"),
        ("0 0 13 * sun-7/2", "0 0 13 * SUN-SAT/2"),
        ("0 0 */2 * 7-7", "0 0 */2 * SUN-SUN"),
        ("0 0 1-31 * 0-7", "0 0 1-31 * SUN-SAT"),
        ("0 0 5,* * 1-7", "0 0 5,* * MON-SUN"),
        ("0 0 */2 * */3", "0 0 */2 * */3"),
        ("0 0 *,5 * *", "0 0 * * *"),
    ] {
        let read = crontab(written);
        assert_eq!(read.to_string(), canonical, "{written}");
        assert_eq!(crontab(canonical), read, "{written}");
    }
    assert_ne!(crontab("0 9 * * *"), "0 0 9 * * ?".parse().unwrap(), "the two are written in different ways");
    assert!("0 9 * * *".parse::<Cron>().is_err(), "what is no crontab by its type is in the Quartz dialect");
}

#[test]
fn descriptions() {
    for (line, text) in [
        ("30 9 * * 1-5", "At 09:30:00, Monday through Friday"),
        ("*/5 * * * *", "Every 5 minutes"),
        ("0 9 13 * 5", "At 09:00:00, on the 13th of the month or on Friday"),
        ("0 9 1 * 1-5", "At 09:00:00, on the 1st of the month or Monday through Friday"),
        ("0 9 */2 * 5", "At 09:00:00, on every 2nd day of the month, but only on Friday"),
    ] {
        assert_eq!(crontab(line).describe(), text, "{line}");
    }
}

/// Either-day lines go through everything that a trigger has.
#[test]
fn a_trigger_has_a_zone_exclusions_and_changes_of_the_clock() {
    let berlin = Zone::named("Europe/Berlin").unwrap();
    let trigger = Trigger::crontab("30 2 31 * 0").unwrap().zone(berlin.clone());
    let trigger = trigger.except_days("2024-04-07").unwrap().except_cron("* * * * 5 ?").unwrap();
    let first: UnixTime = "2024-03-30T00:00:00Z".parse().unwrap();
    let slots = std::iter::successors(trigger.next_after(first), |at| trigger.next_after(*at));
    let slots: Vec<_> = slots.take(5).map(|at| berlin.local(at).to_string()).collect();
    // 31 March is a Sunday without 02:30, and 7 April and all of May are excluded.
    let wanted = ["03-31T03:00", "04-14T02:30", "04-21T02:30", "04-28T02:30", "06-02T02:30"];
    assert_eq!(slots, wanted.map(|at| format!("2024-{at}:00+02:00")));
    assert_eq!(
        trigger.to_string(),
        "crontab 30 2 31 * SUN in Europe/Berlin [except 2024-04-07; except cron * * * * MAY ?]"
    );
    assert!(trigger.is_planned());
}
