//! `next` per class of expression, with and without a zone, beside the crates `croner` and `cron`.
//!
//! `cargo bench -p cotter-scheduler` runs the statistics of criterion and ends with a table of ratios. A crate
//! is left out of a row when it cannot read the expression or answers otherwise.

use std::hint::black_box;
use std::io::{Write, stdout};
use std::str::FromStr;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeZone, Utc};
use chrono_tz::America::New_York;
use cotter_scheduler::{Cron, UnixTime, Zone};
use criterion::Criterion;
use croner::parser::{CronParser, Seconds};

const CLASSES: [(&str, &str); 10] = [
    ("seconds", "*/10 * * * * ?"),
    ("minutes", "0 */5 * * * ?"),
    ("hourly", "0 0 9-21 * * ?"),
    ("daily", "0 15 10 * * ?"),
    ("weekdays", "0 15 10 ? * MON-FRI"),
    ("last day", "0 0 12 L * ?"),
    ("last weekday", "0 0 12 LW * ?"),
    ("nearest weekday", "0 0 12 15W * ?"),
    ("third Friday", "0 0 12 ? * 6#3"),
    ("leap day", "0 0 12 29 2 ?"),
];
/// How many instants are asked about in turn, so that no answer is learnt by heart.
const INSTANTS: usize = 1024;
/// Short enough to be left alone now and then on a busy machine.
const ROUND: Duration = Duration::from_millis(2);
const ROUNDS: usize = 150;

/// From the number of an instant to the answer.
type Ask<'a> = &'a dyn Fn(usize) -> Option<i64>;

fn main() {
    let mut criterion = Criterion::default().configure_from_args().measurement_time(Duration::from_secs(2));
    let mut rows = Vec::new();
    for (class, expression) in CLASSES {
        rows.push(row(&mut criterion, (class, "UTC"), expression, Utc, &Zone::utc()));
        let zone = Zone::named("America/New_York").unwrap();
        rows.push(row(&mut criterion, (class, "New York"), expression, New_York, &zone));
    }
    once(&mut criterion);
    criterion.final_summary();
    let mut out = stdout().lock();
    writeln!(out, "| class | zone | cotter ns | croner ns | ratio | cron ns | ratio |").unwrap();
    writeln!(out, "|---|---|--:|--:|--:|--:|--:|").unwrap();
    rows.iter().for_each(|row| writeln!(out, "{row}").unwrap());
}

/// What is not in the table: an expression that never fires, reading one, and making a zone.
fn once(criterion: &mut Criterion) {
    let never: Cron = "0 0 * 30 2 ?".parse().unwrap();
    let zone = Zone::named("America/New_York").unwrap();
    criterion
        .bench_function("never", |bencher| bencher.iter(|| never.next(black_box(UnixTime::EPOCH), &zone)));
    let read = || black_box("0 15 10 ? * MON-FRI").parse::<Cron>();
    criterion.bench_function("parse", |bencher| bencher.iter(read));
    let named = || Zone::named(black_box("America/New_York"));
    criterion.bench_function("zone by name", |bencher| bencher.iter(named));
}

/// Spread over the years 2020 to 2037 without a pattern.
fn instants() -> Vec<i64> {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1_577_836_800 + (state >> 33) as i64 % 536_000_000
    };
    (0..INSTANTS).map(|_| random()).collect()
}

fn row<T: TimeZone>(
    criterion: &mut Criterion,
    names: (&str, &str),
    expression: &str,
    tz: T,
    zone: &Zone,
) -> String {
    let (class, zone_name) = names;
    let times: Vec<UnixTime> = instants().into_iter().map(UnixTime::from_seconds).collect();
    let dates: Vec<DateTime<T>> = times.iter().map(|at| tz.timestamp_opt(at.seconds(), 0).unwrap()).collect();
    let mut measured = |who: &str, ask: Ask<'_>| {
        let mut turn = (0..INSTANTS).cycle();
        let name = format!("{class}/{zone_name}/{who}");
        criterion.bench_function(&name, |bencher| bencher.iter(|| ask(turn.next().unwrap())));
        nanoseconds(ask)
    };

    let cron: Cron = expression.parse().unwrap();
    let ours = |turn: usize| cron.next(black_box(times[turn]), zone).map(UnixTime::seconds);
    let base = measured("cotter", &ours);

    let parser = CronParser::builder().seconds(Seconds::Required).alternative_weekdays(true).build();
    let croner = parser.parse(expression).ok();
    let croner = croner.map(|croner| {
        let dates = &dates;
        move |turn: usize| {
            croner.find_next_occurrence(black_box(&dates[turn]), false).ok().map(|at| at.timestamp())
        }
    });
    let schedule = cron::Schedule::from_str(expression).ok();
    let schedule = schedule.map(|schedule| {
        let dates = &dates;
        move |turn: usize| schedule.after(black_box(&dates[turn])).next().map(|at| at.timestamp())
    });
    let mut others = String::new();
    let rivals = [
        ("croner", croner.as_ref().map(|ask| ask as Ask<'_>)),
        ("cron", schedule.as_ref().map(|ask| ask as Ask<'_>)),
    ];
    for (who, rival) in rivals {
        let agreeing = rival.filter(|ask| (0..INSTANTS).all(|turn| ask(turn) == ours(turn)));
        others += &agreeing.map_or(" – | – |".to_owned(), |ask| {
            let taken = measured(who, ask);
            format!(" {taken:.0} | {:.0} |", taken / base)
        });
    }
    format!("| {class} `{expression}` | {zone_name} | {base:.0} |{others}")
}

/// The best of several rounds, per call.
fn nanoseconds(ask: Ask<'_>) -> f64 {
    let round = |_| {
        let (start, mut calls) = (Instant::now(), 0);
        while start.elapsed() < ROUND {
            (0..INSTANTS).for_each(|turn| _ = black_box(ask(turn)));
            calls += INSTANTS;
        }
        start.elapsed().as_nanos() as f64 / calls as f64
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}
