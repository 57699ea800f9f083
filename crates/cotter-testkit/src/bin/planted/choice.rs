//! Which bugs are tried.

use super::Result;
use super::bug::Bug;
use super::selection::Selection;
use std::time::Duration;

/// The arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    names: Vec<String>,
    store: Option<String>,
    skipped: Vec<String>,
    /// No bug is begun after so long.
    limit: Option<Duration>,
    /// Which part of how many, from 0.
    part: Option<(usize, usize)>,
    /// Each is planted by itself.
    alone: bool,
}

impl Choice {
    pub(crate) fn of(args: &[String]) -> Result<Self> {
        let (mut choice, mut args) = (Self::default(), args.iter().cloned());
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--alone" => choice.alone = true,
                "--part" => choice.part = Some(part(&value()?).ok_or("--part needs a part, such as 0/8")?),
                "--skip" => choice.skipped.push(value()?),
                "--store" => choice.store = Some(value()?),
                "--seconds" => {
                    let seconds = value()?.parse().map_err(|_| "--seconds needs a whole number")?;
                    choice.limit = Some(Duration::from_secs(seconds));
                }
                option if option.starts_with('-') => return Err(format!("unknown option {option}").into()),
                _ => choice.names.push(arg),
            }
        }
        Ok(choice)
    }

    /// Whether there is time for one more, so long after the first was begun.
    pub(crate) fn has_time(&self, elapsed: Duration) -> bool {
        self.limit.is_none_or(|limit| elapsed < limit)
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.alone
    }

    /// Those that are chosen, in the order of what is compiled for them. A part is a stretch of these: it is built in one or
    /// two ways, and each way costs some dependencies.
    pub(crate) fn of_list<'a>(&self, list: &'a [Bug]) -> Vec<&'a Bug> {
        let mut bugs: Vec<&Bug> = list.iter().filter(|bug| self.has(bug)).collect();
        bugs.sort_by_cached_key(|bug| (Selection::of(bug), bug.program().0));
        let (part, parts) = self.part.unwrap_or((0, 1));
        let start = |part| bugs.len() * part / parts;
        bugs[start(part)..start(part + 1)].to_vec()
    }

    fn has(&self, bug: &Bug) -> bool {
        let is_named = self.names.is_empty() || self.names.contains(&bug.name);
        let is_of_store = self.store.as_deref().is_none_or(|store| Selection::of(bug).is_of(store));
        is_named && is_of_store && !self.skipped.iter().any(|text| bug.test.contains(text))
    }
}

/// `0/8` is the first of eight.
fn part(text: &str) -> Option<(usize, usize)> {
    let (part, parts) = text.split_once('/')?;
    let (part, parts) = (part.parse().ok()?, parts.parse().ok()?);
    (part < parts).then_some((part, parts))
}

#[cfg(test)]
mod tests {
    use super::{Bug, Choice};
    use std::time::Duration;

    #[test]
    fn each_bug_is_in_one_part_beside_those_that_are_built_alike() {
        let tests = ["--lib a", "--test library etcd::b", "--lib c", "--test library etcd::d", "--lib e"];
        let list: Vec<Bug> = tests.iter().map(|test| Bug::for_tests(test, test, "overlap")).collect();
        let names = |part| -> Vec<&str> {
            let choice = Choice { part: Some((part, 2)), ..Choice::default() };
            choice.of_list(&list).iter().map(|bug| bug.name.as_str()).collect()
        };
        assert_eq!(names(0), [tests[0], tests[2]]);
        assert_eq!(names(1), [tests[4], tests[1], tests[3]]);
    }

    #[test]
    fn arguments_are_read() {
        let choice = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            Choice::of(&words).map_err(|e| e.to_string())
        };
        let all = Choice {
            names: vec!["a".into()],
            store: Some("etcd".into()),
            skipped: vec!["x::".into(), "y::".into()],
            limit: Some(Duration::from_secs(9)),
            part: Some((3, 4)),
            alone: true,
        };
        assert!(all.has_time(Duration::from_secs(8)) && !all.has_time(Duration::from_secs(9)));
        assert_eq!(choice("a --store etcd --skip x:: --skip y:: --seconds 9 --part 3/4 --alone"), Ok(all));
        assert_eq!(choice("--seconds x").unwrap_err(), "--seconds needs a whole number");
        assert_eq!(choice("--part 4/4").unwrap_err(), "--part needs a part, such as 0/8");
        assert_eq!(choice("--skip").unwrap_err(), "--skip needs a value");
        assert_eq!(choice("--what").unwrap_err(), "unknown option --what");
    }
}
