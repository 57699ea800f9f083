//! Commands about hashes.

use super::command::{Answer, Args, Command, MANY, int, whole, wrong_number};
use super::keyspace::{Fields, Keyspace, Value};
use super::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    Command { name: "HSET", least: 3, most: MANY, run: set },
    Command { name: "HSETNX", least: 3, most: 3, run: set_new },
    Command { name: "HGET", least: 2, most: 2, run: get },
    Command { name: "HMGET", least: 2, most: MANY, run: get_many },
    Command { name: "HGETALL", least: 1, most: 1, run: all },
    Command { name: "HDEL", least: 2, most: MANY, run: remove },
    Command { name: "HEXISTS", least: 2, most: 2, run: exists },
    Command { name: "HLEN", least: 1, most: 1, run: length },
    Command { name: "HINCRBY", least: 3, most: 3, run: increase },
];

fn find<'a>(fields: Option<&'a Fields>, name: &[u8]) -> Option<&'a Vec<u8>> {
    fields?.iter().find(|(field, _)| field == name).map(|(_, value)| value)
}

/// The hash, which is made if there is none.
fn made<'a>(keyspace: &'a mut Keyspace, key: &[u8]) -> Result<&'a mut Fields, Reply> {
    if keyspace.hash(key)?.is_none() {
        keyspace.put(key, Value::Hash(Vec::new()));
    }
    Ok(keyspace.hash(key)?.expect("it was made"))
}

/// True if the field is new.
fn put(fields: &mut Fields, name: &[u8], value: &[u8]) -> bool {
    match fields.iter_mut().find(|(field, _)| field == name) {
        Some((_, old)) => *old = value.to_vec(),
        None => {
            fields.push((name.to_vec(), value.to_vec()));
            return true;
        }
    }
    false
}

fn set(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    if args.len().is_multiple_of(2) {
        return Err(wrong_number("hset"));
    }
    let fields = made(keyspace, &args[0])?;
    let new = args[1..].chunks(2).filter(|pair| put(fields, &pair[0], &pair[1])).count();
    Ok(Reply::count(new))
}

fn set_new(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let is_new = find(keyspace.hash(&args[0])?.as_deref(), &args[1]).is_none();
    if is_new {
        put(made(keyspace, &args[0])?, &args[1], &args[2]);
    }
    Ok(Reply::Int(i64::from(is_new)))
}

fn get(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    Ok(Reply::maybe(find(keyspace.hash(&args[0])?.as_deref(), &args[1])))
}

fn get_many(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let fields = keyspace.hash(&args[0])?;
    let found = args[1..].iter().map(|name| Reply::maybe(find(fields.as_deref(), name)));
    Ok(Reply::Array(found.collect()))
}

fn all(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let fields = keyspace.hash(&args[0])?;
    let pairs = fields.into_iter().flatten();
    Ok(Reply::Array(pairs.flat_map(|(name, value)| [Reply::bulk(name), Reply::bulk(value)]).collect()))
}

fn remove(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let Some(fields) = keyspace.hash(&args[0])? else { return Ok(Reply::Int(0)) };
    let before = fields.len();
    fields.retain(|(name, _)| !args[1..].contains(name));
    let removed = before - fields.len();
    keyspace.drop_if_empty(&args[0]);
    Ok(Reply::count(removed))
}

fn exists(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let found = find(keyspace.hash(&args[0])?.as_deref(), &args[1]).is_some();
    Ok(Reply::Int(i64::from(found)))
}

fn length(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    Ok(Reply::count(keyspace.hash(&args[0])?.map_or(0, |fields| fields.len())))
}

fn increase(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let by = int(&args[2])?;
    let old = find(keyspace.hash(&args[0])?.as_deref(), &args[1]).map_or(Some(0), |text| whole(text));
    let old = old.ok_or_else(|| Reply::error("ERR hash value is not an integer"))?;
    let sum = old.checked_add(by);
    let sum = sum.ok_or_else(|| Reply::error("ERR increment or decrement would overflow"))?;
    put(made(keyspace, &args[0])?, &args[1], sum.to_string().as_bytes());
    Ok(Reply::Int(sum))
}
