//! One command and its arguments.

use super::keyspace::{Keyspace, WrongType};
use super::reply::Reply;
use super::{hashes, keys, lists, sorted_sets, strings};

/// The arguments of a command, behind its name.
pub(super) type Args<'a> = &'a [Vec<u8>];

/// The answer, or that which is an error.
pub(super) type Answer = Result<Reply, Reply>;

/// How many arguments a command takes, and how it is carried out.
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) run: fn(&mut Keyspace, Args<'_>) -> Answer,
}

/// No limit to the arguments.
pub(super) const MANY: usize = usize::MAX;

const TABLES: [&[Command]; 5] =
    [keys::COMMANDS, strings::COMMANDS, hashes::COMMANDS, lists::COMMANDS, sorted_sets::COMMANDS];

/// Carries out a command that is about keys. `None` if there is none of that name.
pub(super) fn on_keys(keyspace: &mut Keyspace, name: &str, args: Args<'_>) -> Option<Reply> {
    let command = TABLES.iter().copied().flatten().find(|command| command.name.eq_ignore_ascii_case(name))?;
    if args.len() < command.least || args.len() > command.most {
        return Some(wrong_number(name));
    }
    Some((command.run)(keyspace, args).unwrap_or_else(|error| error))
}

pub(super) fn wrong_number(name: &str) -> Reply {
    Reply::error(format!("ERR wrong number of arguments for '{}' command", name.to_lowercase()))
}

pub(super) fn syntax() -> Reply {
    Reply::error("ERR syntax error")
}

impl From<WrongType> for Reply {
    fn from(_: WrongType) -> Self {
        Self::error("WRONGTYPE Operation against a key holding the wrong kind of value")
    }
}

/// A whole number.
pub(super) fn int(arg: &[u8]) -> Result<i64, Reply> {
    whole(arg).ok_or_else(|| Reply::error("ERR value is not an integer or out of range"))
}

/// The number, if this is how Redis writes it: no blanks, no plus, no leading zeros.
pub(super) fn whole(arg: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(arg).ok()?;
    text.parse().ok().filter(|n: &i64| n.to_string() == text)
}

/// A number with or without a fraction.
pub(super) fn float(arg: &[u8]) -> Result<f64, Reply> {
    number(arg).ok_or_else(|| Reply::error("ERR value is not a valid float"))
}

pub(super) fn number(arg: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(arg).ok()?;
    match text.to_lowercase().as_str() {
        "inf" | "+inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok().filter(|n: &f64| n.is_finite()),
    }
}

/// As Redis writes a number: a whole one without a fraction, others with 17 digits.
pub(super) fn written(n: f64) -> String {
    match n {
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        n if n.fract() == 0.0 && n.abs() < 1e17 => format!("{n:.0}"),
        n => {
            let whole = n.abs().log10().floor() as i64;
            let digits = usize::try_from(16 - whole).unwrap_or_default();
            format!("{n:.digits$}").trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

pub(super) fn is(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}

/// The part of a list between two positions, which count from the end where they are negative.
pub(super) fn range(length: usize, from: i64, to: i64) -> std::ops::Range<usize> {
    let length = length as i64;
    let at = |position: i64| if position < 0 { length + position } else { position };
    let (from, end) = (at(from).max(0), at(to).min(length - 1) + 1);
    if from >= end { 0..0 } else { from as usize..end as usize }
}
