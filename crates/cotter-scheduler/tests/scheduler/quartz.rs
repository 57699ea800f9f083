//! Against vectors made with Quartz's own `CronExpression` (`quartz/QuartzVectors.java`).
//!
//! Every difference must be explained by a decision with a name; one that is not fails the test.

use std::collections::BTreeMap;

use cotter_scheduler::{Cron, UnixTime, Zone};

const VECTORS: &str = include_str!("quartz/vectors.tsv");
const DAY: i64 = 86_400;

/// Why we do otherwise than Quartz 2.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Decision {
    /// A fixed hour runs on the first pass of an overlap, an interval on both; Quartz takes one of them.
    Overlap,
    /// A fixed hour that falls into a gap runs at the first instant after it; Quartz drops it.
    Gap,
    /// Quartz also drops times that exist, on the day of a gap, when the gap does not begin on a full hour.
    TimeAfterGap,
    /// Expressions end with the year 2099; Quartz goes on for a hundred years from now.
    EndOf2099,
    /// `31W` asks for a 31st; Quartz sometimes takes the last day of a shorter month.
    NoSuchDay,
}

#[test]
fn the_next_instants_are_those_of_quartz_or_explained() {
    let mut zones = BTreeMap::new();
    let mut seen = BTreeMap::<Decision, u32>::new();
    let (mut same, mut unexplained) = (0, Vec::new());
    for line in VECTORS.lines().filter_map(|line| line.strip_prefix("next\t")) {
        let vector = Vector::read(line);
        let zone = zones.entry(vector.zone).or_insert_with(|| Zone::named(vector.zone).unwrap());
        let differences = vector.differences(zone);
        same += u32::from(differences.is_empty());
        for at in differences {
            match vector.explain(at, zone) {
                Some(decision) => *seen.entry(decision).or_default() += 1,
                None => unexplained.push(format!("{line}\n  {}", zone.local(UnixTime::from_seconds(at)))),
            }
        }
    }
    assert!(unexplained.is_empty(), "unexplained:\n{}", unexplained.join("\n"));
    assert!(same > 6500, "only {same} vectors agree");
    assert_eq!(seen.len(), 5, "a decision without a vector: {seen:?}");
}

struct Vector<'a> {
    expression: &'a str,
    zone: &'a str,
    after: i64,
    quartz: Vec<i64>,
}

impl<'a> Vector<'a> {
    fn read(line: &'a str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        let [expression, zone, after, times] = fields[..] else { panic!("{line}") };
        let quartz = times.split(',').filter(|&time| time != "-").map(|time| time.parse().unwrap()).collect();
        Vector { expression, zone, after: after.parse().unwrap(), quartz }
    }

    /// Instants that only one of the two has, as far as both lists reach.
    fn differences(&self, zone: &Zone) -> Vec<i64> {
        let cron: Cron = self.expression.parse().unwrap();
        let after = UnixTime::from_seconds(self.after);
        let ours: Vec<i64> = cron.after(after, zone).take(3).map(UnixTime::seconds).collect();
        let reach = |list: &[i64]| if list.len() < 3 { i64::MAX } else { list[2] };
        let end = reach(&ours).min(reach(&self.quartz));
        let only = |one: &[i64], other: &[i64]| -> Vec<i64> {
            one.iter().copied().filter(|at| *at <= end && !other.contains(at)).collect()
        };
        [only(&ours, &self.quartz), only(&self.quartz, &ours)].concat()
    }

    fn explain(&self, at: i64, zone: &Zone) -> Option<Decision> {
        let quartz_only = self.quartz.contains(&at);
        let local = zone.local(UnixTime::from_seconds(at)).to_string();
        let short = ["-02-28", "-04-30", "-06-30", "-09-30", "-11-30"].iter().any(|day| local.contains(day));
        let gap = gap_before(at, zone);
        if quartz_only && local.as_str() > "2100" {
            Some(Decision::EndOf2099)
        } else if quartz_only && self.asks_for_weekday_near_the_end() && short {
            Some(Decision::NoSuchDay)
        } else if in_overlap(at, zone) {
            Some(Decision::Overlap)
        } else if !quartz_only && gap == Some(at) && !self.has_only_intervals() {
            Some(Decision::Gap)
        } else if !quartz_only && gap.is_some_and(|start| start % 3600 != 0) {
            Some(Decision::TimeAfterGap)
        } else {
            None
        }
    }

    fn asks_for_weekday_near_the_end(&self) -> bool {
        ["29W", "30W", "31W"].iter().any(|day| self.expression.contains(day))
    }

    fn has_only_intervals(&self) -> bool {
        let hours = self.expression.split(' ').nth(2).unwrap();
        hours == "*" || (hours.contains('/') && !hours.contains(','))
    }
}

fn offset(at: i64, zone: &Zone) -> i64 {
    zone.offset_at(UnixTime::from_seconds(at)).into()
}

/// Whether some other instant within a day shows the same local time.
fn in_overlap(at: i64, zone: &Zone) -> bool {
    let here = offset(at, zone);
    [at - DAY, at + DAY].iter().any(|&near| {
        let other = at + here - offset(near, zone);
        other != at && other + offset(other, zone) == at + here
    })
}

/// The end of the last gap in the day before the instant, itself included.
fn gap_before(at: i64, zone: &Zone) -> Option<i64> {
    (0..DAY).map(|back| at - back).find(|&start| offset(start, zone) > offset(start - 1, zone))
}

/// What only one of the two takes for an expression, and why we decided so.
const PARSED_OTHERWISE: [(&str, &str); 35] = [
    ("* * * * * *", STAR),
    ("0 0 9-21 * * 2-7", STAR),
    ("0 0 0 * * 1", STAR),
    ("0 0 0 1 * *", STAR),
    ("0 0 0 * * L", STAR),
    ("0 0 0 L * *", STAR),
    ("0 0 0 1-31 * *", STAR),
    ("*/0 * * * * ?", EXACT),
    ("1,,2 * * * * ?", EXACT),
    ("0 0 0 1, * ?", EXACT),
    ("0 0 0 ,1 * ?", EXACT),
    ("0 0 0 ? * MONDAY", EXACT),
    ("0 0 0 ? * MON-FRIDAY", EXACT),
    ("0 0 0 1 JANUARY ?", EXACT),
    ("0 0 0 1-5W * ?", EXACT),
    ("0 0 0 1 1 ? 2000 1", EXACT),
    ("0 0 0 ?? * 1", EXACT),
    ("0 0 0 ?1 * 1", EXACT),
    ("*1 * * * * ?", EXACT),
    ("** * * * * ?", EXACT),
    ("1-2-3 * * * * ?", EXACT),
    ("5x * * * * ?", EXACT),
    ("L * * * * ?", EXACT),
    ("0 0 0 ? * L-3", EXACT),
    ("0 0 0 1 L ?", EXACT),
    ("0 0 0 1 1 ? 1969", YEARS),
    ("0 0 0 1 1 ? 2100", YEARS),
    ("0 0 0 L,1 * ?", LISTS),
    ("0 0 0 1,L * ?", LISTS),
    ("0 0 0 LW,1 * ?", LISTS),
    ("0 0 0 ? * 6L,2L", LISTS),
    ("0 0 0 ? * 2L,6#3", LISTS),
    ("0 0 0 1 JAN-3 ?", MIXED),
    ("0 0 0 ? * MON-6", MIXED),
    ("0 0 0 ? * 2-FRI", MIXED),
];
const STAR: &str = "`*` in one day field counts as `?`";
const EXACT: &str = "what Quartz reads past silently is an error";
const YEARS: &str = "years are 1970 to 2099";
const LISTS: &str = "`L`, `W` and `#` may stand in lists";
const MIXED: &str = "names and numbers may be mixed";

#[test]
fn the_same_is_accepted_or_explained() {
    let explained = BTreeMap::from(PARSED_OTHERWISE);
    let mut met = 0;
    for line in VECTORS.lines().filter_map(|line| line.strip_prefix("parse\t")) {
        let (expression, verdict) = line.split_once('\t').unwrap();
        let ours = expression.replace("\\t", "\t").parse::<Cron>();
        let differs = ours.is_ok() != (verdict == "ok");
        assert_eq!(differs, explained.contains_key(expression), "{expression}: {ours:?}, Quartz: {verdict}");
        met += usize::from(differs);
    }
    assert_eq!(met, PARSED_OTHERWISE.len());
}
