//! What a line of a crontab is in the Quartz dialect, and what numbers of days mean in each.

use crate::cron::Cron;
use crate::cron::item::{Days, Dialect, Items};
use crate::cron::parse;

const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// What to write for five fields where six are expected, if they are those of a crontab.
pub(in crate::cron) fn advice(fields: [&str; 5]) -> Option<String> {
    let items = super::parse(&fields.join(" ")).ok()?;
    Some(match translated(items) {
        Some(ours) => format!("this line of a crontab is `{ours}` here; `crontab` takes it as it is"),
        None => "this line of a crontab is for days of two kinds, which only `crontab` takes".to_owned(),
    })
}

/// The expression of the Quartz dialect that fires at the same time. There is none if both day fields count.
fn translated(items: Items) -> Option<String> {
    let has_two_kinds = matches!(items.days, Days::Either(..) | Days::Both(..));
    let quartz = Items { dialect: Dialect::Quartz, ..items };
    (!has_two_kinds).then(|| Cron::new(quartz).to_string())
}

/// What numbers in the day of the week mean here, and in a crontab, if there are any in this expression.
pub(in crate::cron) fn numbers(expression: &str) -> Option<String> {
    parse::parse(expression).ok()?;
    let written = expression.split([' ', '\t']).filter(|word| !word.is_empty()).nth(5)?;
    let here = with_names(written, 1).filter(|here| here != written)?;
    let there = with_names(written, 0)?;
    Some(format!(
        "the day of the week `{written}` is {here} here, as in Quartz, and {there} in a crontab; write names"
    ))
}

/// A field with names instead of numbers, of which `first` is Sunday. `None` if a number is none of a day, or only Quartz has the
/// form.
fn with_names(field: &str, first: usize) -> Option<String> {
    if field.contains(['#', 'L', 'l']) {
        return None;
    }
    let items = field.split(',').map(|item| {
        let (days, step) = item.split_once('/').map_or((item, None), |(days, step)| (days, Some(step)));
        let days = days.split('-').map(|day| named(day, first)).collect::<Option<Vec<_>>>()?.join("-");
        Some(step.map_or(days.clone(), |step| format!("{days}/{step}")))
    });
    Some(items.collect::<Option<Vec<_>>>()?.join(","))
}

fn named(day: &str, first: usize) -> Option<String> {
    match day.parse::<usize>() {
        // A crontab has 7 for Sunday, too.
        Ok(number) if (first..=7).contains(&number) => Some(DAYS[(number - first) % 7].to_owned()),
        Ok(_) => None,
        Err(_) => Some(day.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{advice, numbers};

    #[test]
    fn a_line_of_a_crontab_is_translated() {
        for (line, ours) in [
            ("*/15 * * * *", "0 */15 * * * ?"),
            ("0 9 * * 1-5", "0 0 9 ? * MON-FRI"),
            ("30 4 1,15 * *", "0 30 4 1,15 * ?"),
            ("0 0 * * 0", "0 0 0 ? * SUN"),
            ("0 0 * * 5-7", "0 0 0 ? * FRI-SUN"),
            ("0 0 * JAN MON,3", "0 0 0 ? JAN MON,WED"),
            ("0 22 * * 1-5/2", "0 0 22 ? * MON-FRI/2"),
        ] {
            let fields: Vec<_> = line.split(' ').collect();
            let found = advice(fields.try_into().unwrap()).unwrap();
            assert!(
                found.starts_with(&format!("this line of a crontab is `{ours}` here;")),
                "{line}: {found}"
            );
        }
        assert!(advice(["0", "0", "1", "*", "1"]).unwrap().contains("only `crontab` takes"));
        assert_eq!(advice(["0", "25", "*", "*", "*"]), None, "no hour");
        assert_eq!(advice(["0", "0", "*", "*", "8"]), None, "no day");
    }

    #[test]
    fn numbers_of_days_mean_two_things() {
        let text = numbers("0 0 9 * * 1-5").unwrap();
        assert!(text.contains("`1-5` is SUN-THU here") && text.contains("MON-FRI in a crontab"), "{text}");
        assert!(numbers("0 0 9 ? * 7 2030").unwrap().contains("SAT here, as in Quartz, and SUN"));
        for clear in
            ["0 0 9 ? * MON-FRI", "0 0 9 * * ?", "0 0 9 ? * 6L", "0 0 9 ? * 2#1", "0 0 9 ? * */2", "", "1 2"]
        {
            assert_eq!(numbers(clear), None, "{clear}");
        }
    }
}
