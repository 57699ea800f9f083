//! Output to people and programs, and failures.

use crate::exit::Exit;
use crate::journal::Priority;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use std::error::Error;
use std::fmt::{Display, Write as _};
use std::fs::File;
use std::io::{self, IsTerminal, StderrLock, StdoutLock, Write};
use std::path::Path;

/// A failure: one line for people and an exit code for scripts.
#[derive(Debug, Clone)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    /// What is printed; nothing if it is empty.
    pub message: String,
}

impl Failure {
    /// A failure with this exit.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    /// Wrong usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// A wrong configuration, or a problem of the setup.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(Exit::Config, message)
    }
}

impl From<cotter::Error> for Failure {
    fn from(error: cotter::Error) -> Self {
        Self::new(error.kind().into(), chain(&error))
    }
}

impl From<cotter_scheduler::Error> for Failure {
    fn from(error: cotter_scheduler::Error) -> Self {
        use cotter_scheduler::ErrorKind;
        let exit = match (error.kind(), error.store()) {
            (_, Some(store)) => store.kind().into(),
            _ if error.is_retryable() => Exit::Busy(Exit::BUSY),
            (ErrorKind::ForeignNote, _) => Exit::UsedOtherwise,
            (ErrorKind::UnknownJob, _) => Exit::Usage,
            (ErrorKind::Trigger | ErrorKind::Job, _) => Exit::Config,
            _ => Exit::Protocol,
        };
        Self::new(exit, chain(&error))
    }
}

impl From<io::Error> for Failure {
    /// An error of writing the output. A reader that has closed the pipe (`cotter list | head -1`) is not a failure.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Done, String::new()),
            _ => Self::new(Exit::System, format!("cannot write the output: {error}")),
        }
    }
}

/// A file for output, made before there is anything to write, so that what is in its way is known before.
pub fn created(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|e| Failure::config(format!("{} cannot be written: {e}", path.display())))
}

/// An error and its causes, without repetitions.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        let words = more.split(" (os error ").next().unwrap_or_default();
        if !text.contains(words) && !quotes(&more, &text) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Whether a cause only frames what an error has said already, in its last part or parts, or before the advice.
fn quotes(cause: &str, said: &str) -> bool {
    /// Less may be the same by chance.
    const SENTENCE: usize = 16;
    let mut parts = said.match_indices(": ").map(|(at, colon)| &said[at + colon.len()..]);
    let in_cause = |part: &str| part.len() >= SENTENCE && cause.contains(part);
    parts.any(|part| in_cause(part) || part.split_once("; ").is_some_and(|(what, _)| in_cause(what)))
}

/// Makes foreign text (labels, names, arguments) safe to print on one line of a terminal: control characters are replaced,
/// and characters that change the writing direction or end a line are escaped.
pub fn clean(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut cleaned, c| {
        match c {
            c if c.is_control() => cleaned.push(' '),
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                cleaned.extend(c.escape_unicode());
            }
            c => cleaned.push(c),
        }
        cleaned
    })
}

/// The output streams and their verbosity.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    color: ColorChoice,
    /// No warnings, and no status line.
    pub quiet: bool,
    /// Which store is used and why, and what a run waits for.
    pub verbose: bool,
    /// JSON, one object per line.
    pub json: bool,
}

impl Console {
    /// The streams of this process, as the options of the command line ask for them.
    pub fn new(color: clap::ColorChoice, quiet: bool, verbose: bool, json: bool) -> Self {
        let color = match color {
            clap::ColorChoice::Auto => ColorChoice::Auto,
            clap::ColorChoice::Always => ColorChoice::Always,
            clap::ColorChoice::Never => ColorChoice::Never,
        };
        Self { color, quiet, verbose, json }
    }

    /// Standard output.
    pub fn out(&self) -> AutoStream<StdoutLock<'static>> {
        AutoStream::new(io::stdout().lock(), self.color)
    }

    /// Prints each of these as a line of standard output, and all lines at once: a write for each takes longer than what is in it.
    pub fn objects(&self, objects: impl IntoIterator<Item = impl Display>) -> Result<(), Failure> {
        let mut lines = String::new();
        for object in objects {
            let _ = writeln!(lines, "{object}");
        }
        Ok(self.out().write_all(lines.as_bytes())?)
    }

    /// Standard error, for lines that are formatted elsewhere. Errors of writing to it are ignored by callers.
    pub fn err(&self) -> AutoStream<StderrLock<'static>> {
        AutoStream::new(io::stderr().lock(), self.color)
    }

    /// Prints a failure that ends the command.
    pub fn failure(&self, failure: &Failure) {
        if !failure.message.is_empty() {
            self.problem(&failure.message);
        }
    }

    /// Prints what went wrong while the command goes on, also with `--quiet`.
    pub fn problem(&self, message: &str) {
        self.line(Priority::Error, Style::new().bold().fg_color(Some(AnsiColor::Red.into())), message);
    }

    /// Prints a warning; it does not affect the exit code.
    pub fn warning(&self, message: &str) {
        if !self.quiet {
            let style = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
            self.line(Priority::Warning, style, message);
        }
    }

    /// Prints a confirmation where there is no other output, on a terminal or with `--verbose`.
    pub fn confirm(&self, message: &str) {
        if self.verbose || io::stderr().is_terminal() {
            self.remark(message);
        }
    }

    /// Prints a remark.
    pub fn remark(&self, message: &str) {
        if !self.quiet {
            self.line(Priority::Info, Style::new().bold(), message);
        }
    }

    fn line(&self, priority: Priority, style: Style, message: &str) {
        let prefix = priority.prefix();
        let _ = writeln!(self.err(), "{prefix}{style}cotter:{style:#} {}", clean(message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotter::ErrorKind;

    #[test]
    fn a_cause_is_told_once() {
        let told = |message: &str, cause: &str| {
            let error = cotter::Error::new(ErrorKind::Denied, message).with_source(io::Error::other(cause));
            chain(&error)
        };
        let why = "Access denied for user 'app'@'localhost' (using password: YES)";
        let once = told(
            &format!("the server denied access: {why}"),
            &format!("Server error: `ERROR 1045 (28000): {why}'"),
        );
        assert_eq!(once, format!("denied: the server denied access: {why}"));
        let missing = "Table 'jobs.cotter_locks' doesn't exist";
        let advice = format!("{missing}; run `cotter migrate`");
        let once = told(&advice, &format!("Server error: `ERROR 1146 (42S02): {missing}'"));
        assert_eq!(once, format!("denied: {advice}"));
        assert_eq!(told("no access", "broken pipe"), "denied: no access: broken pipe");
        assert_eq!(
            told("cannot write: full", "no space: full"),
            "denied: cannot write: full: no space: full"
        );
    }

    #[test]
    fn text_from_elsewhere_can_neither_turn_the_line_nor_end_it() {
        assert_eq!(clean("a\tb\nc\x1b[1m"), "a b c [1m");
        assert_eq!(clean("safe-\u{202e}txt.exe\u{2028}x"), "safe-\\u{202e}txt.exe\\u{2028}x");
        assert_eq!(clean("naïve 💡👩\u{200d}🚀"), "naïve 💡👩\u{200d}🚀");
    }
}
