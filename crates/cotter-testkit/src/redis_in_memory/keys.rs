//! Commands about keys, whatever they have.

use super::command::{Answer, Args, Command, MANY, int, is, syntax};
use super::keyspace::{Keyspace, Value};
use super::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    Command { name: "DEL", least: 1, most: MANY, run: remove },
    Command { name: "UNLINK", least: 1, most: MANY, run: remove },
    Command { name: "EXISTS", least: 1, most: MANY, run: exists },
    Command { name: "TYPE", least: 1, most: 1, run: kind },
    Command { name: "PEXPIRE", least: 2, most: 2, run: expire },
    Command { name: "PTTL", least: 1, most: 1, run: left },
    Command { name: "RENAME", least: 2, most: 2, run: rename },
    Command { name: "SCAN", least: 1, most: MANY, run: scan },
];

fn remove(keyspace: &mut Keyspace, keys: Args<'_>) -> Answer {
    Ok(Reply::count(keys.iter().filter(|key| keyspace.remove(key)).count()))
}

fn exists(keyspace: &mut Keyspace, keys: Args<'_>) -> Answer {
    Ok(Reply::count(keys.iter().filter(|key| keyspace.get(key).is_some()).count()))
}

fn kind(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    Ok(Reply::Status(kind_of(keyspace.get(&args[0])).into()))
}

fn kind_of(value: Option<&mut Value>) -> &'static str {
    match value {
        None => "none",
        Some(Value::String(_)) => "string",
        Some(Value::Hash(_)) => "hash",
        Some(Value::List(_)) => "list",
        Some(Value::SortedSet(_)) => "zset",
    }
}

fn expire(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let ends = keyspace.millis() as i64 + int(&args[1])?;
    Ok(Reply::Int(i64::from(keyspace.set_ends(&args[0], Some(ends.max(0) as u64)))))
}

fn left(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let now = keyspace.millis();
    Ok(Reply::Int(match keyspace.ends(&args[0]) {
        None => -2,
        Some(None) => -1,
        Some(Some(ends)) => (ends - now) as i64,
    }))
}

fn rename(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    match keyspace.rename(&args[0], &args[1]) {
        true => Ok(Reply::ok()),
        false => Err(Reply::error("ERR no such key")),
    }
}

/// All that there is, at once.
fn scan(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let mut names = keyspace.names();
    for option in args[1..].chunks(2) {
        match option {
            [word, pattern] if is(word, "MATCH") => names.retain(|name| matches(pattern, name)),
            [word, kind] if is(word, "TYPE") => {
                names.retain(|name| kind_of(keyspace.get(name)).as_bytes() == kind.as_slice());
            }
            [word, _] if is(word, "COUNT") => {}
            _ => return Err(syntax()),
        }
    }
    Ok(Reply::Array(vec![Reply::bulk("0"), Reply::Array(names.into_iter().map(Reply::Bulk).collect())]))
}

/// Whether a name is like a pattern: `*` is anything, `?` one byte, and a backslash takes its meaning from the next.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], name) => name.is_empty(),
        ([b'*', rest @ ..], name) => (0..=name.len()).any(|skipped| matches(rest, &name[skipped..])),
        ([b'?', rest @ ..], [_, name @ ..]) => matches(rest, name),
        ([b'\\', byte, rest @ ..] | [byte, rest @ ..], [first, name @ ..]) => {
            byte == first && matches(rest, name)
        }
        _ => false,
    }
}
