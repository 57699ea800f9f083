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
}

impl Choice {
    pub(crate) fn of(args: &[String]) -> Result<Self> {
        let (mut choice, mut args) = (Self::default(), args.iter().cloned());
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
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

    pub(crate) fn has(&self, bug: &Bug) -> bool {
        let is_named = self.names.is_empty() || self.names.contains(&bug.name);
        let is_of_store = self.store.as_deref().is_none_or(|store| Selection::of(bug).is_of(store));
        is_named && is_of_store && !self.skipped.iter().any(|text| bug.test.contains(text))
    }
}

#[cfg(test)]
mod tests {
    use super::Choice;
    use std::time::Duration;

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
        };
        assert!(all.has_time(Duration::from_secs(8)) && !all.has_time(Duration::from_secs(9)));
        assert_eq!(choice("a --store etcd --skip x:: --skip y:: --seconds 9"), Ok(all));
        assert_eq!(choice("--seconds x").unwrap_err(), "--seconds needs a whole number");
        assert_eq!(choice("--skip").unwrap_err(), "--skip needs a value");
        assert_eq!(choice("--what").unwrap_err(), "unknown option --what");
    }
}
