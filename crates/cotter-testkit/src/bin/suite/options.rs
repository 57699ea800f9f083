//! What is asked for.

use super::Result;

/// The arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Tests with one of these in their names do not run.
    pub(crate) skipped: Vec<String>,
    /// The name of the file for the summary.
    pub(crate) report: String,
    /// Not the whole workspace.
    pub(crate) part: Option<Part>,
}

/// Some of the tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// What one types to run them.
    pub(crate) command: String,
    /// Whether tests that need a server or a tool are left out.
    pub(crate) without_ignored: bool,
    /// If there are any, only tests with one of these in their names run.
    pub(crate) only: Vec<String>,
    /// How `cargo test` chooses them.
    pub(crate) choice: Vec<String>,
}

impl Options {
    pub(crate) fn of(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self { report: "tests".into(), ..Self::default() };
        let (mut command, mut without_ignored, mut only) = (None, false, Vec::new());
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--skip" => options.skipped.push(value()?),
                "--only" => only.push(value()?),
                "--report" => options.report = value()?,
                "--command" => command = Some(value()?),
                "--without-ignored" => without_ignored = true,
                "--" => break,
                _ => return Err(format!("unknown option {arg}").into()),
            }
        }
        let choice: Vec<_> = args.collect();
        options.part = match command {
            Some(command) => Some(Part { command, without_ignored, only, choice }),
            None if choice.is_empty() && only.is_empty() && !without_ignored => None,
            None => return Err("a choice of tests needs --command".into()),
        };
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, Part};

    fn options(line: &str) -> Result<Options, String> {
        Options::of(line.split_whitespace().map(String::from)).map_err(|e| e.to_string())
    }

    #[test]
    fn options_are_read() {
        let all = options("--skip a:: --skip b").expect("it is right");
        assert_eq!((all.skipped, all.report.as_str()), (vec!["a::".to_owned(), "b".into()], "tests"));
        let part = options("--report p --command run --without-ignored --only c -- --lib")
            .expect("it is right")
            .part;
        let expected = Part {
            command: "run".into(),
            without_ignored: true,
            only: vec!["c".into()],
            choice: vec!["--lib".into()],
        };
        assert_eq!(part, Some(expected));
        assert!(options("--skip").is_err());
        assert!(options("--what").is_err());
        assert!(options("-- --lib").is_err());
        assert!(options("--only c").is_err());
    }
}
