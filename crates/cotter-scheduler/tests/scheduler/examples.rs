//! Named expressions, one promise per test; local times as a person would check them on a calendar.

use cotter_scheduler::{Cron, UnixTime, Zone};

fn cron(expression: &str) -> Cron {
    expression.parse().unwrap_or_else(|error| panic!("{expression}: {error}"))
}

/// The next instants in local time with offset; checks on the way that `previous` goes the same way back.
fn next(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let (cron, zone) = (cron(expression), Zone::named(zone).unwrap());
    let after: UnixTime = after.parse().unwrap();
    let found: Vec<UnixTime> = cron.after(after, &zone).take(count).collect();
    if let Some(&last) = found.last() {
        let end = UnixTime::from_seconds(last.seconds() + 1);
        let mut back: Vec<_> = cron.before(end, &zone).take(found.len()).collect();
        back.reverse();
        assert_eq!(back, found, "{expression}");
    }
    found.into_iter().map(|at| zone.local(at).to_string()).collect()
}

fn days(expression: &str, after: &str, count: usize) -> Vec<String> {
    let times = next(expression, "UTC", after, count);
    times.into_iter().map(|time| time.split_once('T').unwrap().0.to_owned()).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn the_first_of_each_month() {
    let found = next("0 0 2 1 * ? *", "UTC", "2024-01-15T00:00:00Z", 2);
    assert_eq!(found, ["2024-02-01T02:00:00+00:00", "2024-03-01T02:00:00+00:00"]);
}

#[test]
fn weekdays() {
    let found = next("0 15 10 ? * MON-FRI", "UTC", "2024-03-07T10:15:00Z", 2);
    assert_eq!(found, ["2024-03-08T10:15:00+00:00", "2024-03-11T10:15:00+00:00"], "strictly after Thursday");
}

#[test]
fn last_fridays_of_some_years_with_odd_blanks() {
    let expression = "0 15 10 ?  *  6L 2002-2006";
    assert_eq!(days(expression, "1999-01-01T00:00:00Z", 3), ["2002-01-25", "2002-02-22", "2002-03-29"]);
    assert_eq!(days(expression, "2006-12-01T00:00:00Z", 3), ["2006-12-29"]);
    let all = cron(expression);
    assert_eq!(all.after(UnixTime::EPOCH, &Zone::utc()).count(), 60);
}

#[test]
fn a_star_in_one_day_field_counts_as_a_question_mark() {
    assert_eq!(cron("0 0 9-21 * * 2-7"), cron("0 0 9-21 ? * MON-SAT"));
    let found = next("0 0 9-21 * * 2-7", "UTC", "2024-03-09T20:30:00Z", 2);
    assert_eq!(found, ["2024-03-09T21:00:00+00:00", "2024-03-11T09:00:00+00:00"], "not on Sunday");
}

#[test]
fn every_few_seconds() {
    let seconds = |expression: &str| -> Vec<String> {
        let times = next(expression, "UTC", "2024-01-01T00:00:57Z", 3);
        times.iter().map(|time| time[14..19].to_owned()).collect()
    };
    assert_eq!(seconds("0/2 * * * * ?"), ["00:58", "01:00", "01:02"]);
    assert_eq!(seconds("0/10 * * ? * *"), ["01:00", "01:10", "01:20"]);
    assert_eq!(seconds("5/15 * * * * ?"), ["01:05", "01:20", "01:35"], "the next minute begins at 5 again");
}

#[test]
fn bare_l_in_either_day_field() {
    assert_eq!(days("0 0 0 L * ?", "2024-02-01T00:00:00Z", 3), ["2024-02-29", "2024-03-31", "2024-04-30"]);
    assert_eq!(days("0 0 0 ? * L", "2024-03-01T00:00:00Z", 2), ["2024-03-02", "2024-03-09"], "Saturdays");
}

#[test]
fn last_weekday_of_the_month() {
    assert_eq!(days("0 0 0 LW * ?", "2024-03-01T00:00:00Z", 3), ["2024-03-29", "2024-04-30", "2024-05-31"]);
    assert_eq!(days("0 0 0 L-3 * ?", "2024-02-01T00:00:00Z", 2), ["2024-02-26", "2024-03-28"]);
    assert_eq!(
        days("0 0 0 L-3W 6,7,8 ?", "2024-06-01T00:00:00Z", 3),
        ["2024-06-27", "2024-07-29", "2024-08-28"]
    );
}

#[test]
fn weekday_nearest_to_a_day() {
    assert_eq!(days("0 0 0 5W * ?", "2024-04-30T00:00:00Z", 3), ["2024-05-06", "2024-06-05", "2024-07-05"]);
    assert_eq!(days("0 0 0 5W * ?", "2024-10-01T00:00:00Z", 1), ["2024-10-04"], "the 5th is a Saturday");
    assert_eq!(days("0 0 0 1W * ?", "2024-05-31T00:00:00Z", 1), ["2024-06-03"], "never in the month before");
    assert_eq!(days("0 0 0 31W * ?", "2024-03-01T00:00:00Z", 1), ["2024-03-29"], "never in the month after");
}

#[test]
fn a_31st_only_where_there_is_one() {
    let found = days("0 0 0 31W * ?", "2024-04-01T00:00:00Z", 4);
    assert_eq!(found, ["2024-05-31", "2024-07-31", "2024-08-30", "2024-10-31"]);
}

#[test]
fn nth_day_of_the_week() {
    assert_eq!(days("0 0 0 ? * 4#2", "2024-02-01T00:00:00Z", 2), ["2024-02-14", "2024-03-13"]);
    assert_eq!(days("0 0 0 ? * 6#5", "2024-02-01T00:00:00Z", 3), ["2024-03-29", "2024-05-31", "2024-08-30"]);
}

#[test]
fn ranges_that_wrap() {
    let found = days("0 0 0 ? * FRI-MON", "2024-03-01T12:00:00Z", 4);
    assert_eq!(found, ["2024-03-02", "2024-03-03", "2024-03-04", "2024-03-08"]);
    let hours = next("0 0 22-2 * * ?", "UTC", "2024-03-01T12:00:00Z", 6);
    let hours: Vec<&str> = hours.iter().map(|time| &time[8..13]).collect();
    assert_eq!(hours, ["01T22", "01T23", "02T00", "02T01", "02T02", "02T22"]);
}

#[test]
fn leap_days() {
    assert_eq!(days("0 0 0 29 2 ?", "2023-01-01T00:00:00Z", 2), ["2024-02-29", "2028-02-29"]);
    assert_eq!(days("0 0 0 29 2 ?", "2096-03-01T00:00:00Z", 2), NOTHING);
    assert_eq!(days("0 0 0 29 2 ? 2023", "1970-01-01T00:00:00Z", 2), NOTHING);
}

#[test]
fn lists_of_special_days() {
    let found = days("0 0 0 1,15W,L * ?", "2024-06-01T12:00:00Z", 4);
    assert_eq!(found, ["2024-06-14", "2024-06-30", "2024-07-01", "2024-07-15"]);
    let found = days("0 0 0 ? * 2#1,6L,WED 2024", "2024-12-20T00:00:00Z", 4);
    assert_eq!(found, ["2024-12-25", "2024-12-27"]);
}

#[test]
fn the_ends_of_time() {
    let last = days("0 0 0 * * ?", "2099-12-30T12:00:00Z", 3);
    assert_eq!(last, ["2099-12-31"]);
    assert_eq!(days("0 0 0 1 1 ? 2099", "2000-01-01T00:00:00Z", 3), ["2099-01-01"]);
    let (every, utc) = (cron("* * * * * ?"), Zone::utc());
    assert_eq!(every.next(UnixTime::from_seconds(i64::MIN), &utc), Some(UnixTime::EPOCH));
    assert_eq!(every.next(UnixTime::from_seconds(i64::MAX), &utc), None);
    assert_eq!(every.previous(UnixTime::from_seconds(i64::MIN), &utc), None);
    let end: UnixTime = "2099-12-31T23:59:59Z".parse().unwrap();
    assert_eq!(every.previous(UnixTime::from_seconds(i64::MAX), &utc), Some(end));
    assert_eq!(every.previous(UnixTime::EPOCH, &utc), None);
}

#[test]
fn the_ends_of_time_are_local() {
    let found = next("0 0 0 1 1 ? 1970", "Asia/Tokyo", "1960-01-01T00:00:00Z", 2);
    assert_eq!(found, ["1970-01-01T00:00:00+09:00"]);
    let found = next("59 59 23 31 12 ? 2099", "America/New_York", "2099-12-31T23:59:59Z", 2);
    assert_eq!(found, ["2099-12-31T23:59:59-05:00"]);
}

#[test]
fn instants_between_seconds() {
    let (cron, utc) = (cron("* * * * * ?"), Zone::utc());
    let between = UnixTime::new(100, 1);
    assert_eq!(cron.next(between, &utc), Some(UnixTime::from_seconds(101)));
    assert_eq!(cron.previous(between, &utc), Some(UnixTime::from_seconds(100)));
    assert!(!cron.fires_at(between, &utc));
    assert!(cron.fires_at(UnixTime::from_seconds(100), &utc));
}

#[test]
fn new_york_gap() {
    let at =
        |hours: &str| next(&format!("0 30 {hours} * * ?"), "America/New_York", "2024-03-10T05:00:00Z", 2);
    assert_eq!(at("2"), ["2024-03-10T03:00:00-04:00", "2024-03-11T02:30:00-04:00"], "once, behind the gap");
    assert_eq!(
        at("2/24".replace("24", "23").as_str()),
        ["2024-03-11T02:30:00-04:00", "2024-03-12T02:30:00-04:00"]
    );
    assert_eq!(at("*"), ["2024-03-10T00:30:00-05:00", "2024-03-10T01:30:00-05:00"]);
    let both = next("0 0 2,3 * * ?", "America/New_York", "2024-03-10T05:00:00Z", 2);
    assert_eq!(both, ["2024-03-10T03:00:00-04:00", "2024-03-11T02:00:00-04:00"], "two that coincide are one");
    let hourly = next("0 30 * * * ?", "America/New_York", "2024-03-10T06:30:00Z", 2);
    assert_eq!(hourly, ["2024-03-10T03:30:00-04:00", "2024-03-10T04:30:00-04:00"]);
}

#[test]
fn new_york_overlap() {
    let at =
        |hours: &str| next(&format!("0 30 {hours} * * ?"), "America/New_York", "2024-11-03T04:45:00Z", 3);
    let fixed = ["2024-11-03T01:30:00-04:00", "2024-11-04T01:30:00-05:00", "2024-11-05T01:30:00-05:00"];
    assert_eq!(at("1"), fixed, "on the first pass only");
    let live = ["2024-11-03T01:30:00-04:00", "2024-11-03T01:30:00-05:00", "2024-11-03T02:30:00-05:00"];
    assert_eq!(at("*"), live, "both passes");
    assert_eq!(at("0-23"), live, "a range over all hours is an interval");
    assert_eq!(at("0/1"), live);
    assert_eq!(at("1,*"), live, "judged item by item");
    assert_eq!(at("0-11,12-23")[1], "2024-11-03T02:30:00-05:00", "two halves are not an interval");
}

#[test]
fn asking_within_an_overlap() {
    let found = next("0 30 1 * * ?", "America/New_York", "2024-11-03T05:30:00Z", 1);
    assert_eq!(found, ["2024-11-04T01:30:00-05:00"]);
    let zone = Zone::named("America/New_York").unwrap();
    let second_pass: UnixTime = "2024-11-03T06:15:00Z".parse().unwrap();
    let following = cron("0 30 1 * * ?").next(second_pass, &zone).unwrap();
    assert_eq!(zone.local(following).to_string(), "2024-11-04T01:30:00-05:00");
    let previous = cron("0 30 1 * * ?").previous(second_pass, &zone).unwrap();
    assert_eq!(zone.local(previous).to_string(), "2024-11-03T01:30:00-04:00");
}

#[test]
fn london() {
    let found = next("0 30 1 * * ?", "Europe/London", "2024-03-30T12:00:00Z", 2);
    assert_eq!(found, ["2024-03-31T02:00:00+01:00", "2024-04-01T01:30:00+01:00"]);
    let found = next("0 0/30 1 * * ?", "Europe/London", "2024-10-27T00:00:00Z", 3);
    let firsts = ["2024-10-27T01:30:00+01:00", "2024-10-28T01:00:00+00:00", "2024-10-28T01:30:00+00:00"];
    assert_eq!(found, firsts);
}

#[test]
fn lord_howe_moves_by_half_an_hour() {
    let found = next("0 15 2 * * ?", "Australia/Lord_Howe", "2024-10-05T12:00:00Z", 2);
    assert_eq!(found, ["2024-10-06T02:30:00+11:00", "2024-10-07T02:15:00+11:00"]);
    let found = next("0 45 1 * * ?", "Australia/Lord_Howe", "2024-04-06T12:00:00Z", 2);
    assert_eq!(found, ["2024-04-07T01:45:00+11:00", "2024-04-08T01:45:00+10:30"]);
    let found = next("0 0/15 * * * ?", "Australia/Lord_Howe", "2024-04-06T14:30:00Z", 4);
    let passes = ["01:45:00+11:00", "01:30:00+10:30", "01:45:00+10:30", "02:00:00+10:30"];
    assert_eq!(found, passes.map(|time| format!("2024-04-07T{time}")));
}

#[test]
fn apia_skipped_a_day() {
    let found = next("0 0 12 30 12 ?", "Pacific/Apia", "2011-01-01T00:00:00Z", 2);
    assert_eq!(found, ["2011-12-31T00:00:00+14:00", "2012-12-30T12:00:00+14:00"]);
    let found = next("0 0 12 * * ?", "Pacific/Apia", "2011-12-29T12:00:00Z", 3);
    let around = ["2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"];
    assert_eq!(found, around);
    let found = next("0 0 * 30 12 ?", "Pacific/Apia", "2011-01-01T00:00:00Z", 1);
    assert_eq!(found, ["2012-12-30T00:00:00+14:00"], "an interval has nothing in a gap");
}

#[test]
fn shanghai_1988() {
    let found = next("0 30 2 * * ?", "Asia/Shanghai", "1988-04-16T12:00:00Z", 2);
    assert_eq!(found, ["1988-04-17T03:00:00+09:00", "1988-04-18T02:30:00+09:00"]);
    let found = next("0 30 1 * * ?", "Asia/Shanghai", "1988-09-10T12:00:00Z", 2);
    assert_eq!(found, ["1988-09-11T01:30:00+09:00", "1988-09-12T01:30:00+08:00"]);
}

#[test]
fn rules_after_2037() {
    let found = next("0 30 2 ? 3 SUN#2 2098", "America/New_York", "2040-01-01T00:00:00Z", 1);
    assert_eq!(found, ["2098-03-09T03:00:00-04:00"]);
    let found = next("0 0 12 1 1,7 ? 2090", "Australia/Sydney", "2040-01-01T00:00:00Z", 2);
    assert_eq!(found, ["2090-01-01T12:00:00+11:00", "2090-07-01T12:00:00+10:00"]);
    let found = next("0 0 12 1 1,7 ? 2090", "Africa/Casablanca", "2040-01-01T00:00:00Z", 2);
    assert_eq!(found.len(), 2);
}

#[test]
fn midnight_that_does_not_exist() {
    let found = next("0 0 0 * * ?", "America/Sao_Paulo", "2018-11-03T12:00:00Z", 2);
    assert_eq!(found, ["2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"]);
}

#[test]
fn never() {
    for expression in
        ["0 0 0 30 2 ?", "0 0 0 31 4,6,9,11 ?", "0 0 0 L-30 2 ?", "0 0 * 30 2 ?", "* * * 29 2 ? 2001/4"]
    {
        assert_eq!(next(expression, "America/New_York", "1970-01-01T00:00:00Z", 1), NOTHING, "{expression}");
        let end = "2200-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(cron(expression).previous(end, &Zone::named("America/New_York").unwrap()), None);
    }
}
