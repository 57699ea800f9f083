//! Commands about strings.

use super::command::{Answer, Args, Command, MANY, int, is, syntax, whole};
use super::keyspace::{Keyspace, Value};
use super::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    Command { name: "GET", least: 1, most: 1, run: get },
    Command { name: "SET", least: 2, most: MANY, run: set },
    Command { name: "SETNX", least: 2, most: 2, run: set_new },
    Command { name: "GETSET", least: 2, most: 2, run: swap },
    Command { name: "MGET", least: 1, most: MANY, run: get_many },
    Command { name: "INCRBY", least: 2, most: 2, run: increase },
    Command { name: "DECRBY", least: 2, most: 2, run: decrease },
];

fn get(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    Ok(Reply::maybe(keyspace.string(&args[0])?))
}

fn get_many(keyspace: &mut Keyspace, keys: Args<'_>) -> Answer {
    Ok(Reply::Array(keys.iter().map(|key| Reply::maybe(keyspace.string(key).ok().flatten())).collect()))
}

/// The options of `SET`.
#[derive(Default)]
struct Options {
    new: bool,
    existing: bool,
    keeps_end: bool,
    ends: Option<u64>,
}

impl Options {
    fn parse(keyspace: &Keyspace, args: Args<'_>) -> Result<Self, Reply> {
        let (mut options, mut args) = (Self::default(), args.iter());
        while let Some(word) = args.next() {
            match word {
                word if is(word, "NX") && !options.existing => options.new = true,
                word if is(word, "XX") && !options.new => options.existing = true,
                word if is(word, "KEEPTTL") && options.ends.is_none() => options.keeps_end = true,
                word if (is(word, "PX") || is(word, "EX"))
                    && options.ends.is_none()
                    && !options.keeps_end =>
                {
                    let unit = if is(word, "EX") { 1000 } else { 1 };
                    let time = int(args.next().ok_or_else(syntax)?)?;
                    if time <= 0 {
                        return Err(Reply::error("ERR invalid expire time in 'set' command"));
                    }
                    options.ends = Some(keyspace.millis() + time as u64 * unit);
                }
                _ => return Err(syntax()),
            }
        }
        Ok(options)
    }
}

fn set(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let (key, value) = (&args[0], &args[1]);
    let options = Options::parse(keyspace, &args[2..])?;
    let exists = keyspace.get(key).is_some();
    if options.new && exists || options.existing && !exists {
        return Ok(Reply::Nil);
    }
    let ends = if options.keeps_end { keyspace.ends(key).flatten() } else { options.ends };
    keyspace.put(key, Value::String(value.clone()));
    if ends.is_some() {
        keyspace.set_ends(key, ends);
    }
    Ok(Reply::ok())
}

fn set_new(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let is_new = keyspace.get(&args[0]).is_none();
    if is_new {
        keyspace.put(&args[0], Value::String(args[1].clone()));
    }
    Ok(Reply::Int(i64::from(is_new)))
}

fn swap(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let old = Reply::maybe(keyspace.string(&args[0])?);
    keyspace.put(&args[0], Value::String(args[1].clone()));
    Ok(old)
}

fn increase(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    add(keyspace, &args[0], int(&args[1])?)
}

fn decrease(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let by = int(&args[1])?.checked_neg().ok_or_else(|| Reply::error("ERR decrement would overflow"))?;
    add(keyspace, &args[0], by)
}

fn add(keyspace: &mut Keyspace, key: &[u8], by: i64) -> Answer {
    let old = keyspace.string(key)?;
    let number = old.as_ref().map_or(Some(0), |text| whole(text));
    let number = number.ok_or_else(|| Reply::error("ERR value is not an integer or out of range"))?;
    let sum = number.checked_add(by);
    let sum = sum.ok_or_else(|| Reply::error("ERR increment or decrement would overflow"))?;
    match old {
        Some(text) => *text = sum.to_string().into_bytes(),
        None => keyspace.put(key, Value::String(sum.to_string().into_bytes())),
    }
    Ok(Reply::Int(sum))
}
