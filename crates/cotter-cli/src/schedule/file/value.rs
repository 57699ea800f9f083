//! Parsing of values. Errors say what to write.

use cotter_console::duration;
use cotter_scheduler::{Label, Scheduler, Trigger, UnixTime, Zone};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use toml::de::DeValue;

pub(super) fn text(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) if text.is_empty() => Err("it is empty".to_owned()),
        DeValue::String(text) => without_nul(text),
        other => Err(format!("found {}; write a \"string\"", kind(other))),
    }
}

/// Neither a path nor an argument of a program can contain it.
fn without_nul(text: &str) -> Result<String, String> {
    match text.contains('\0') {
        true => Err("it contains a NUL character; leave it out".to_owned()),
        false => Ok(text.to_owned()),
    }
}

pub(super) fn duration(value: &DeValue<'_>) -> Result<Duration, String> {
    with_unit(value, duration::parse)
}

pub(super) fn positive(value: &DeValue<'_>) -> Result<Duration, String> {
    with_unit(value, duration::parse_positive)
}

fn with_unit(value: &DeValue<'_>, parse: fn(&str) -> Result<Duration, String>) -> Result<Duration, String> {
    match value {
        DeValue::String(text) => parse(text),
        DeValue::Integer(number) => parse(number.as_str()),
        other => Err(format!("found {}; write a duration like \"5s\" or \"500ms\"", kind(other))),
    }
}

/// A number, at least one.
pub(super) fn count(value: &DeValue<'_>) -> Result<usize, String> {
    usize::try_from(some(value)?).map_err(|e| e.to_string())
}

/// The length of a history.
pub(super) fn history(value: &DeValue<'_>) -> Result<usize, String> {
    match count(value)? {
        runs if runs <= Scheduler::MAX_HISTORY => Ok(runs),
        runs => {
            Err(format!("a history of {runs} runs is too long; the maximum is {}", Scheduler::MAX_HISTORY))
        }
    }
}

pub(super) fn number(value: &DeValue<'_>) -> Result<u64, String> {
    let DeValue::Integer(number) = value else {
        return Err(format!("found {}; write a whole number", kind(value)));
    };
    let text = number.as_str();
    u64::from_str_radix(text, number.radix())
        .map_err(|_| format!("{text} is not a number from 0 to {}", u64::MAX))
}

/// A number that fits into 32 bits.
pub(super) fn small(value: &DeValue<'_>) -> Result<u32, String> {
    u32::try_from(number(value)?).map_err(|_| "it is larger than 4294967295".to_owned())
}

/// A number that fits into 32 bits, at least one.
pub(super) fn some(value: &DeValue<'_>) -> Result<u32, String> {
    match small(value)? {
        0 => Err("it is zero; write 1 or more".to_owned()),
        number => Ok(number),
    }
}

/// The trigger, without slots on these days and at these times.
pub(super) fn except(trigger: Trigger, value: &DeValue<'_>) -> Result<Trigger, String> {
    excluded(value)?.iter().try_fold(trigger, |trigger, text| {
        let restricted =
            if is_expression(text) { trigger.except_cron(text) } else { trigger.except_days(text) };
        restricted.map_err(|e| e.to_string())
    })
}

/// Days and expressions.
pub(super) fn excluded(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let how = "write [\"2031-12-25\", \"2031-12-24/2032-01-01\", \"* * 22-5 * * ?\"]";
    let DeValue::Array(array) = value else { return Err(format!("found {}; {how}", kind(value))) };
    let entry = |value: &DeValue<'_>| text(value).map(|text| text.trim().to_owned());
    array.iter().map(|value| entry(value.get_ref()).map_err(|why| format!("{why}; {how}"))).collect()
}

/// An expression differs from a day in that it contains blanks.
pub(super) fn is_expression(text: &str) -> bool {
    text.contains(' ')
}

/// A number that may be negative.
pub(super) fn signed(value: &DeValue<'_>) -> Result<i32, String> {
    let DeValue::Integer(number) = value else {
        return Err(format!("found {}; write a whole number", kind(value)));
    };
    let text = number.as_str();
    i32::from_str_radix(text, number.radix())
        .map_err(|_| format!("{text} is not a number from {} to {}", i32::MIN, i32::MAX))
}

/// The name of a lock.
pub(super) fn lock_name(value: &DeValue<'_>) -> Result<String, String> {
    let name = text(value)?;
    cotter::Name::new(&name).map_err(|e| e.to_string())?;
    Ok(name)
}

/// The names of jobs, or of one.
pub(super) fn names(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let how = |value: &DeValue<'_>| format!("found {}; write \"a\" or [\"a\", \"b\"]", kind(value));
    match value {
        DeValue::String(name) => Ok(vec![name.to_string()]),
        DeValue::Array(all) if !all.is_empty() => {
            all.iter().map(|one| text(one.get_ref()).map_err(|_| how(one.get_ref()))).collect()
        }
        DeValue::Array(_) => Err("the list is empty; name a job".to_owned()),
        other => Err(how(other)),
    }
}

/// Which hosts run a job.
#[derive(Debug, Clone, Default)]
pub(super) struct On {
    /// Each of them, by itself.
    pub(super) each: bool,
    /// Those that have all of these labels.
    pub(super) labels: BTreeSet<Label>,
}

/// A label or "each", or several.
pub(super) fn on(value: &DeValue<'_>) -> Result<On, String> {
    let mut on = On::default();
    let mut add = |value: &DeValue<'_>| {
        let how = "\"role=db\", [\"role=db\", \"zone=a\"] or \"each\"";
        match value {
            DeValue::String(text) if text == EACH => on.each = true,
            DeValue::String(text) => {
                on.labels.insert(Label::new(text).map_err(|e| format!("{e}; or {EACH:?}"))?);
            }
            other => return Err(format!("found {}; write {how}", kind(other))),
        }
        Ok(())
    };
    match value {
        DeValue::Array(all) => all.iter().try_for_each(|one| add(one.get_ref()))?,
        one => add(one)?,
    }
    Ok(on)
}

/// On each host.
const EACH: &str = "each";

/// How many of all jobs with the same name run at a time.
pub(super) fn limit(value: &DeValue<'_>) -> Result<(String, u32), String> {
    let how = "write { name = \"reports\", of = 3 }";
    let DeValue::Table(table) = value else { return Err(format!("found {}; {how}", kind(value))) };
    let (Some(name), Some(of), 2) = (table.get("name"), table.get("of"), table.len()) else {
        return Err(format!("it needs `name` and `of`, and nothing else: {how}"));
    };
    let name = lock_name(name.get_ref()).map_err(|why| format!("`name`: {why}"))?;
    Ok((name, some(of.get_ref()).map_err(|why| format!("`of`: {why}"))?))
}

pub(super) fn boolean(value: &DeValue<'_>) -> Result<bool, String> {
    match value {
        DeValue::Boolean(yes) => Ok(*yes),
        other => Err(format!("found {}; write true or false", kind(other))),
    }
}

/// A key that can only be set to true.
pub(super) fn yes(value: &DeValue<'_>) -> Result<(), String> {
    match boolean(value)? {
        true => Ok(()),
        false => Err("write true, or leave it out".to_owned()),
    }
}

/// One of the known words.
pub(super) fn word<T: Copy>(known: &[(&str, T)]) -> impl Fn(&DeValue<'_>) -> Result<T, String> {
    move |value| {
        let text = text(value)?;
        let found = known.iter().find(|(word, _)| *word == text);
        let all = || known.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(", ");
        found.map(|(_, meant)| *meant).ok_or_else(|| format!("{text:?} is not one of {}", all()))
    }
}

/// A program and its arguments.
pub(super) fn words(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let how = "write [\"program\", \"argument\"], or use `shell`";
    let DeValue::Array(array) = value else { return Err(format!("found {}; {how}", kind(value))) };
    let word = |value: &DeValue<'_>| match value {
        DeValue::String(text) => without_nul(text),
        other => Err(format!("found {} in it; {how}", kind(other))),
    };
    let words: Vec<_> = array.iter().map(|value| word(value.get_ref())).collect::<Result<_, _>>()?;
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err(format!("there is no program in it; {how}")),
    }
}

/// A program and its arguments, or a script for the shell.
pub(super) fn words_or_script(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    match value {
        DeValue::String(_) => Ok(by_the_shell(text(value)?)),
        _ => words(value),
    }
}

/// The command for a script.
pub(super) fn by_the_shell(script: String) -> Vec<String> {
    vec!["sh".to_owned(), "-c".to_owned(), script]
}

pub(super) fn directory(value: &DeValue<'_>) -> Result<PathBuf, String> {
    let path = PathBuf::from(text(value)?);
    match path.is_absolute() {
        true => Ok(path),
        false => Err("write an absolute path".to_owned()),
    }
}

pub(super) fn zone(value: &DeValue<'_>) -> Result<Zone, String> {
    Zone::named(&text(value)?).map_err(|e| e.to_string())
}

/// An instant, as a string or a TOML datetime. An offset is required: otherwise the instant would be ambiguous.
pub(super) fn instant(value: &DeValue<'_>) -> Result<UnixTime, String> {
    let text = match value {
        DeValue::Datetime(time) => time.to_string(),
        other => text(other)?,
    };
    text.parse().map_err(|e: cotter_scheduler::TimeError| e.to_string())
}

/// What a value is, for a mistake.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a decimal point or an exponent",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
