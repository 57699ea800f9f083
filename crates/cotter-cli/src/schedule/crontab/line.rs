//! The lines of a crontab, as cron(8) of Debian reads them.

use super::super::file::Mistake;
use cotter_scheduler::{Cron, Zone};

/// A line that is neither empty nor a comment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A variable for the lines that follow.
    Variable {
        name: String,
        value: String,
    },
    Entry(Entry),
}

/// A command and its times.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where it stands, from 1.
    pub(super) number: usize,
    pub(super) text: String,
    /// The five fields, or a nickname.
    pub(super) times: String,
    pub(super) user: Option<String>,
    pub(super) command: String,
}

impl Entry {
    /// Whether it belongs to the start of a host and not to a time.
    pub(super) fn is_at_boot(&self) -> bool {
        self.times.eq_ignore_ascii_case("@reboot")
    }
}

/// All lines, or all mistakes in them.
pub(super) fn parse(text: &str, has_users: bool) -> Result<Vec<Line>, Vec<Mistake>> {
    let (mut lines, mut mistakes) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let read = match variable(line) {
            Some((name, value)) => set(name, value),
            None => entry(number, line, has_users).map(Line::Entry),
        };
        match read {
            Ok(line) => lines.push(line),
            Err(message) => mistakes.push(Mistake { line: number, message }),
        }
    }
    if mistakes.is_empty() { Ok(lines) } else { Err(mistakes) }
}

/// `NAME = value`, either of them in quotes or not.
fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let (name, value) = (unquoted(name.trim()), unquoted(value.trim()));
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let is_variable =
        !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_name);
    is_variable.then_some((name, value))
}

fn set(name: &str, value: &str) -> Result<Line, String> {
    if name == "CRON_TZ" {
        Zone::named(value).map_err(|e| format!("`CRON_TZ`: {e}"))?;
    }
    Ok(Line::Variable { name: name.into(), value: value.into() })
}

fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

fn entry(number: usize, line: &str, has_users: bool) -> Result<Entry, String> {
    let fields = if line.starts_with('@') { 1 } else { 5 };
    let (times, rest) = words(line, fields);
    if !times.eq_ignore_ascii_case("@reboot") {
        Cron::from_crontab(&times).map_err(|e| e.to_string())?;
    }
    let (user, command) = match has_users {
        false => (None, rest),
        true => {
            let (user, command) = words(rest, 1);
            (Some(user), command)
        }
    };
    if command.is_empty() {
        let column = if has_users { " after the user" } else { "" };
        return Err(format!("there is no command{column}"));
    }
    Ok(Entry { number, text: line.into(), times, user, command: command.into() })
}

/// The first words, and what stands behind them.
fn words(text: &str, count: usize) -> (String, &str) {
    let (mut found, mut rest) = (Vec::new(), text);
    for _ in 0..count {
        let (word, behind) = first_word(rest);
        found.push(word);
        rest = behind;
    }
    (found.join(" ").trim_end().into(), rest)
}

/// The first word, and what stands behind it.
pub(super) fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, behind) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, behind.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str, has_users: bool) -> Vec<(String, Option<String>, String)> {
        let lines = parse(text, has_users).unwrap().into_iter();
        let entries = lines.filter_map(|line| match line {
            Line::Entry(entry) => Some((entry.times, entry.user, entry.command)),
            Line::Variable { .. } => None,
        });
        entries.collect()
    }

    #[test]
    fn a_line_is_times_a_user_and_a_command() {
        let wanted = |user: Option<&str>, command: &str| {
            vec![("0 9 * * 1-5".to_owned(), user.map(str::to_owned), command.to_owned())]
        };
        assert_eq!(entries("  0 9\t* *  1-5   root  a  b=c \n", true), wanted(Some("root"), "a  b=c"));
        assert_eq!(entries("0 9 * * 1-5 A=b c\n# 0 0 * * * x\n\n", false), wanted(None, "A=b c"));
        assert_eq!(entries("@daily x -y", false)[0].0, "@daily");
    }

    #[test]
    fn variables_have_quotes_or_none() {
        let is = |name: &'static str, value: &'static str| Some((name, value));
        assert_eq!(variable("MAILTO=ops@example.org"), is("MAILTO", "ops@example.org"));
        assert_eq!(variable("\"A\" = ' b c '"), is("A", " b c "));
        assert_eq!(variable("EMPTY="), is("EMPTY", ""));
        assert_eq!(variable("0 9 * * * A=b"), None);
    }

    #[test]
    fn every_mistake_is_found() {
        let mistakes =
            parse("61 * * * * x\n* * * * *\n@often x\n0 0 * * * root\nCRON_TZ=Europe/Nowhere\n", true)
                .unwrap_err();
        let found: Vec<_> = mistakes.iter().map(|mistake| mistake.line).collect();
        assert_eq!(found, [1, 2, 3, 4, 5], "{mistakes:?}");
        assert_eq!(mistakes[3].message, "there is no command after the user");
    }
}
