//! Commands about lists.

use super::command::{Answer, Args, Command, MANY, int, range};
use super::keyspace::{Keyspace, Value};
use super::reply::Reply;
use std::collections::VecDeque;

pub(super) const COMMANDS: &[Command] = &[
    Command { name: "RPUSH", least: 2, most: MANY, run: append },
    Command { name: "LPOP", least: 1, most: 1, run: pop },
    Command { name: "LINDEX", least: 2, most: 2, run: at },
    Command { name: "LRANGE", least: 3, most: 3, run: part },
    Command { name: "LREM", least: 3, most: 3, run: remove },
];

fn append(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    if keyspace.list(&args[0])?.is_none() {
        keyspace.put(&args[0], Value::List(VecDeque::new()));
    }
    let items = keyspace.list(&args[0])?.expect("it was made");
    items.extend(args[1..].iter().cloned());
    Ok(Reply::count(items.len()))
}

fn pop(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let first = keyspace.list(&args[0])?.and_then(VecDeque::pop_front);
    keyspace.drop_if_empty(&args[0]);
    Ok(Reply::maybe(first))
}

fn at(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let Some(items) = keyspace.list(&args[0])? else { return Ok(Reply::Nil) };
    let at = int(&args[1])?;
    let at = if at < 0 { items.len() as i64 + at } else { at };
    Ok(Reply::maybe(usize::try_from(at).ok().and_then(|at| items.get(at))))
}

fn part(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let (from, to) = (int(&args[1])?, int(&args[2])?);
    let Some(items) = keyspace.list(&args[0])? else { return Ok(Reply::Array(Vec::new())) };
    Ok(Reply::Array(items.range(range(items.len(), from, to)).map(Reply::bulk).collect()))
}

/// From the tail where the count is negative, all where it is zero.
fn remove(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let count = int(&args[1])?;
    let Some(items) = keyspace.list(&args[0])? else { return Ok(Reply::Int(0)) };
    let most = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
    let mut removed = 0;
    while removed < most {
        let found = match count < 0 {
            true => items.iter().rposition(|item| *item == args[2]),
            false => items.iter().position(|item| *item == args[2]),
        };
        let Some(at) = found else { break };
        items.remove(at);
        removed += 1;
    }
    keyspace.drop_if_empty(&args[0]);
    Ok(Reply::count(removed))
}
