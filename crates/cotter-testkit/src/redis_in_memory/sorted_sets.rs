//! Commands about sorted sets.

use super::command::{Answer, Args, Command, MANY, float, int, is, number, range, syntax, written};
use super::keyspace::{Keyspace, Members, Value};
use super::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    Command { name: "ZADD", least: 3, most: MANY, run: add },
    Command { name: "ZREM", least: 2, most: MANY, run: remove },
    Command { name: "ZSCORE", least: 2, most: 2, run: score },
    Command { name: "ZRANK", least: 2, most: 2, run: rank },
    Command { name: "ZCARD", least: 1, most: 1, run: length },
    Command { name: "ZINCRBY", least: 3, most: 3, run: increase },
    Command { name: "ZRANGE", least: 3, most: 4, run: by_rank },
    Command { name: "ZRANGEBYSCORE", least: 3, most: MANY, run: by_score },
    Command { name: "ZCOUNT", least: 3, most: 3, run: count },
    Command { name: "ZREMRANGEBYSCORE", least: 3, most: 3, run: remove_by_score },
];

fn position(members: &Members, member: &[u8]) -> Option<usize> {
    members.iter().position(|(_, name)| name == member)
}

/// The set, which is made if there is none.
fn made<'a>(keyspace: &'a mut Keyspace, key: &[u8]) -> Result<&'a mut Members, Reply> {
    if keyspace.sorted_set(key)?.is_none() {
        keyspace.put(key, Value::SortedSet(Vec::new()));
    }
    Ok(keyspace.sorted_set(key)?.expect("it was made"))
}

/// True if the member is new.
fn put(members: &mut Members, score: f64, member: &[u8]) -> bool {
    let old = position(members, member);
    if let Some(at) = old {
        members.remove(at);
    }
    let before = |(other, name): &(f64, Vec<u8>)| (*other, name.as_slice()) < (score, member);
    members.insert(members.partition_point(before), (score, member.to_vec()));
    old.is_none()
}

fn add(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let only_new = is(&args[1], "NX");
    let pairs = &args[1 + usize::from(only_new)..];
    if pairs.is_empty() || !pairs.len().is_multiple_of(2) {
        return Err(syntax());
    }
    let scores: Result<Vec<f64>, Reply> = pairs.chunks(2).map(|pair| float(&pair[0])).collect();
    let (scores, members) = (scores?, made(keyspace, &args[0])?);
    let mut new = 0;
    for (score, pair) in scores.into_iter().zip(pairs.chunks(2)) {
        if !only_new || position(members, &pair[1]).is_none() {
            new += usize::from(put(members, score, &pair[1]));
        }
    }
    Ok(Reply::count(new))
}

fn remove(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let Some(members) = keyspace.sorted_set(&args[0])? else { return Ok(Reply::Int(0)) };
    let before = members.len();
    members.retain(|(_, name)| !args[1..].contains(name));
    let removed = before - members.len();
    keyspace.drop_if_empty(&args[0]);
    Ok(Reply::count(removed))
}

fn score(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let Some(members) = keyspace.sorted_set(&args[0])? else { return Ok(Reply::Nil) };
    Ok(Reply::maybe(position(members, &args[1]).map(|at| written(members[at].0))))
}

fn rank(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let at = keyspace.sorted_set(&args[0])?.and_then(|members| position(members, &args[1]));
    Ok(at.map_or(Reply::Nil, Reply::count))
}

fn length(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    Ok(Reply::count(keyspace.sorted_set(&args[0])?.map_or(0, |members| members.len())))
}

fn increase(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let by = float(&args[1])?;
    let members = made(keyspace, &args[0])?;
    let sum = position(members, &args[2]).map_or(0.0, |at| members[at].0) + by;
    put(members, sum, &args[2]);
    Ok(Reply::bulk(written(sum)))
}

fn with_scores(members: &[(f64, Vec<u8>)], scores: bool) -> Reply {
    let mut listed = Vec::new();
    for (score, member) in members {
        listed.push(Reply::bulk(member));
        if scores {
            listed.push(Reply::bulk(written(*score)));
        }
    }
    Reply::Array(listed)
}

fn by_rank(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let scores = match args.get(3) {
        None => false,
        Some(word) if is(word, "WITHSCORES") => true,
        Some(_) => return Err(syntax()),
    };
    let (from, to) = (int(&args[1])?, int(&args[2])?);
    let Some(members) = keyspace.sorted_set(&args[0])? else { return Ok(Reply::Array(Vec::new())) };
    Ok(with_scores(&members[range(members.len(), from, to)], scores))
}

/// A limit, and whether it is outside itself.
fn limit(arg: &[u8]) -> Result<(f64, bool), Reply> {
    let (digits, outside) = arg.strip_prefix(b"(").map_or((arg, false), |rest| (rest, true));
    // Nothing is zero, as in C.
    let limit = if digits.is_empty() { Some(0.0) } else { number(digits) };
    let limit = limit.ok_or_else(|| Reply::error("ERR min or max is not a float"))?;
    Ok((limit, outside))
}

/// Which scores are between two limits.
fn between(min: &[u8], max: &[u8]) -> Result<impl Fn(f64) -> bool, Reply> {
    let ((min, above), (max, below)) = (limit(min)?, limit(max)?);
    Ok(move |score| {
        let (starts, ends) =
            (if above { score > min } else { score >= min }, if below { score < max } else { score <= max });
        starts && ends
    })
}

fn by_score(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let is_between = between(&args[1], &args[2])?;
    let (mut scores, mut skipped, mut most, mut options) = (false, 0, usize::MAX, args[3..].iter());
    while let Some(word) = options.next() {
        if is(word, "WITHSCORES") {
            scores = true;
        } else if is(word, "LIMIT") {
            let (from, many) = (options.next().ok_or_else(syntax)?, options.next().ok_or_else(syntax)?);
            let (from, many) = (int(from)?, int(many)?);
            most = usize::try_from(many).unwrap_or(usize::MAX);
            // Before the first there is nothing.
            (skipped, most) = usize::try_from(from).map_or((0, 0), |from| (from, most));
        } else {
            return Err(syntax());
        }
    }
    let members = keyspace.sorted_set(&args[0])?.map(|members| &*members);
    let found = members.into_iter().flatten().filter(|(score, _)| is_between(*score));
    let found: Vec<_> = found.skip(skipped).take(most).cloned().collect();
    Ok(with_scores(&found, scores))
}

fn count(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let is_between = between(&args[1], &args[2])?;
    let members = keyspace.sorted_set(&args[0])?;
    Ok(Reply::count(members.into_iter().flatten().filter(|(score, _)| is_between(*score)).count()))
}

fn remove_by_score(keyspace: &mut Keyspace, args: Args<'_>) -> Answer {
    let is_between = between(&args[1], &args[2])?;
    let Some(members) = keyspace.sorted_set(&args[0])? else { return Ok(Reply::Int(0)) };
    let before = members.len();
    members.retain(|(score, _)| !is_between(*score));
    let removed = before - members.len();
    keyspace.drop_if_empty(&args[0]);
    Ok(Reply::count(removed))
}
