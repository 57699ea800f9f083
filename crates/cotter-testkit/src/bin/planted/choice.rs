//! Which bugs are tried.

use super::Result;
use super::bug::Bug;
use super::selection::Selection;

/// The arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    names: Vec<String>,
    store: Option<String>,
    skipped: Vec<String>,
}

impl Choice {
    pub(crate) fn of(args: &[String]) -> Result<Self> {
        let (mut choice, mut args) = (Self::default(), args.iter().cloned());
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--skip" => choice.skipped.push(value()?),
                "--store" => choice.store = Some(value()?),
                option if option.starts_with('-') => return Err(format!("unknown option {option}").into()),
                _ => choice.names.push(arg),
            }
        }
        Ok(choice)
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
        };
        assert_eq!(choice("a --store etcd --skip x:: --skip y::"), Ok(all));
        assert_eq!(choice("--skip").unwrap_err(), "--skip needs a value");
        assert_eq!(choice("--what").unwrap_err(), "unknown option --what");
    }
}
