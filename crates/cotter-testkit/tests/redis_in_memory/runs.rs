//! What the server in memory did in runs of the simulation, done once more by a real server.
//!
//! Its time is that of the run: a script reads it from a list, and each key is given the rest of its life before it is used.

use crate::alike::same;
use crate::real::{Real, request};
use cotter_testkit::redis_in_memory::{Found, Reply, Step, Value};
use cotter_testkit::servers::Redis;
use cotter_testkit::simulation::{RedisMode, Steps, Store, replay};
use cotter_testkit::sized;
use std::collections::HashMap;

const TIME: &str = "{time}";

/// A real server that does what another has done.
struct Copy {
    port: u16,
    control: Real,
    sessions: HashMap<u64, (Real, i64)>,
    scripts: HashMap<Vec<u8>, Vec<u8>>,
    /// When keys end, in ms since 1970.
    ends: HashMap<Vec<u8>, u64>,
    compared: usize,
    scripts_run: usize,
}

impl Copy {
    fn new(port: u16) -> Self {
        let mut control = Real::open(port);
        control.one(&["FLUSHALL"]);
        control.one(&["SCRIPT", "FLUSH"]);
        Self {
            port,
            control,
            sessions: HashMap::new(),
            scripts: HashMap::new(),
            ends: HashMap::new(),
            compared: 0,
            scripts_run: 0,
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Opened(number) => {
                let mut session = Real::open(self.port);
                let Reply::Int(id) = session.one(&["CLIENT", "ID"]) else { panic!("no id") };
                self.sessions.insert(*number, (session, id));
            }
            Step::Ended(number) => {
                let (_, id) = self.sessions.remove(number).expect("it was opened");
                self.control.one(&["CLIENT", "KILL", "ID", &id.to_string()]);
            }
            Step::Asked { micros, session, request, replies, keys } => {
                return self.ask(*micros, *session, request, replies, keys);
            }
        }
        Ok(())
    }

    fn ask(
        &mut self,
        micros: u64,
        session: u64,
        asked: &[Vec<u8>],
        replies: &[Reply],
        keys: &[(Vec<u8>, Found)],
    ) -> Result<(), String> {
        let name = String::from_utf8_lossy(&asked[0]).to_uppercase();
        match name.as_str() {
            "PING" | "CLIENT" | "TIME" | "SELECT" => return Ok(()),
            "SUBSCRIBE" | "UNSUBSCRIBE" => return self.listen(session, asked, replies),
            "SCRIPT" => {
                let theirs = self.control.ask(&[asked.to_vec()]);
                if let [Reply::Bulk(hash)] = replies {
                    self.scripts.insert(hash.clone(), asked[2].clone());
                }
                return same(&name, replies, &theirs);
            }
            _ => {}
        }
        let Some(command) = self.in_the_time_of_the_run(&name, asked, replies) else { return Ok(()) };
        let mut batch = vec![request(&["MULTI"]), request(&["DEL", TIME])];
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        batch.push(request(&["RPUSH", TIME, &seconds.to_string(), &rest.to_string()]));
        for (key, _) in keys {
            let left = self.ends.get(key).map(|ends| *ends as i64 - (micros / 1000) as i64);
            match left {
                None => {}
                Some(left) if left < 0 => batch.push(vec![b"DEL".to_vec(), key.clone()]),
                Some(left) => {
                    batch.push(vec![b"PEXPIRE".to_vec(), key.clone(), left.max(1).to_string().into_bytes()]);
                }
            }
        }
        let at = batch.len() - 1;
        batch.push(command);
        keys.iter().for_each(|(key, value)| batch.extend(look(key, value.as_ref().map(|(value, _)| value))));
        batch.push(request(&["EXEC"]));
        let Some(Reply::Array(answers)) = self.control.ask(&batch).pop() else { panic!("no answers") };
        same(&name, replies, &answers[at..=at])?;
        for ((key, state), found) in keys.iter().zip(answers[at + 1..].chunks(2)) {
            let name = String::from_utf8_lossy(key);
            let value = state.as_ref().map(|(value, _)| value);
            let (ours, theirs) = (sorted(shown(value), value), sorted(found[0].clone(), value));
            same(&format!("{name} afterwards"), std::slice::from_ref(&ours), std::slice::from_ref(&theirs))?;
            if ours != theirs {
                self.put_right(key, value);
            }
            let ends = state.as_ref().and_then(|(_, ends)| *ends);
            let left = ends
                .map_or(if value.is_some() { -1 } else { -2 }, |ends| ends as i64 - (micros / 1000) as i64);
            let Reply::Int(theirs) = found[1] else { panic!("no time") };
            // The real clock goes on between two steps of one command.
            if (left - theirs).abs() > 50 {
                return Err(format!("{name} has {left} ms left here, and {theirs} there"));
            }
            match ends {
                Some(ends) => self.ends.insert(key.clone(), ends),
                None => self.ends.remove(key),
            };
        }
        // Until it is used again: the time of the run stands still meanwhile.
        let kept = keys.iter().map(|(key, _)| vec![b"PERSIST".to_vec(), key.clone()]);
        self.control.ask(&kept.collect::<Vec<_>>());
        self.compared += 1;
        Ok(())
    }

    /// A difference of a millisecond must not become another order.
    fn put_right(&mut self, key: &[u8], value: Option<&Value>) {
        let mut put = match value {
            Some(Value::String(bytes)) => vec![b"SET".to_vec(), key.to_vec(), bytes.clone()],
            Some(Value::SortedSet(_)) => vec![b"ZADD".to_vec(), key.to_vec()],
            _ => return,
        };
        if let Some(Value::SortedSet(members)) = value {
            put.extend(members.iter().flat_map(|(score, m)| [format!("{score:.0}").into_bytes(), m.clone()]));
        }
        self.control.ask(&[vec![b"DEL".to_vec(), key.to_vec()], put]);
    }

    /// The command, with a clock that stands. `None` if it was refused because a script was forgotten at a restart.
    fn in_the_time_of_the_run(
        &mut self,
        name: &str,
        asked: &[Vec<u8>],
        replies: &[Reply],
    ) -> Option<Vec<Vec<u8>>> {
        let mut command = asked.to_vec();
        if name == "EVAL" || name == "EVALSHA" {
            if matches!(replies, [Reply::Error(text)] if text.starts_with("NOSCRIPT")) {
                return None;
            }
            let text = if name == "EVAL" { asked[1].clone() } else { self.scripts.get(&asked[1])?.clone() };
            let text = String::from_utf8(text).expect("a script is text");
            let clock = format!("redis.call('LRANGE', '{TIME}', 0, -1)");
            (command[0], command[1]) =
                (b"EVAL".to_vec(), text.replace("redis.call('TIME')", &clock).into_bytes());
            if name == "EVAL" {
                self.scripts.insert(hash(&asked[1]), asked[1].clone());
            }
            self.scripts_run += 1;
        }
        Some(command)
    }

    fn listen(&mut self, session: u64, asked: &[Vec<u8>], replies: &[Reply]) -> Result<(), String> {
        let Some((real, _)) = self.sessions.get_mut(&session) else { return Ok(()) };
        let mut theirs = real.ask(&[asked.to_vec()]);
        while theirs.len() < replies.len() || is_message(theirs.last()) {
            theirs.retain(|reply| !is_message(Some(reply)));
            theirs.push(real.reply());
        }
        same("subscriptions", replies, &theirs)
    }
}

fn is_message(reply: Option<&Reply>) -> bool {
    matches!(reply, Some(Reply::Array(parts)) if parts.first() == Some(&Reply::Bulk(b"message".to_vec())))
}

fn hash(text: &[u8]) -> Vec<u8> {
    redis::Script::new(&String::from_utf8_lossy(text)).get_hash().as_bytes().to_vec()
}

/// Commands that show what a key has, of this kind, and how long it has.
fn look(key: &[u8], value: Option<&Value>) -> [Vec<Vec<u8>>; 2] {
    let words: &[&str] = match value {
        None => &["EXISTS"],
        Some(Value::String(_)) => &["GET"],
        Some(Value::Hash(_)) => &["HGETALL"],
        Some(Value::List(_)) => &["LRANGE", "0", "-1"],
        Some(Value::SortedSet(_)) => &["ZRANGE", "0", "-1", "WITHSCORES"],
    };
    let mut shows = request(words);
    shows.insert(1, key.to_vec());
    [shows, vec![b"PTTL".to_vec(), key.to_vec()]]
}

/// What those commands answer.
fn shown(value: Option<&Value>) -> Reply {
    let list = |items: Vec<Vec<u8>>| Reply::Array(items.into_iter().map(Reply::Bulk).collect());
    match value {
        None => Reply::Int(0),
        Some(Value::String(bytes)) => Reply::Bulk(bytes.clone()),
        Some(Value::Hash(fields)) => list(fields.iter().flat_map(|(n, v)| [n.clone(), v.clone()]).collect()),
        Some(Value::List(items)) => list(items.iter().cloned().collect()),
        Some(Value::SortedSet(members)) => list(
            members.iter().flat_map(|(score, m)| [m.clone(), format!("{score:.0}").into_bytes()]).collect(),
        ),
    }
}

/// A large hash has no order.
fn sorted(reply: Reply, value: Option<&Value>) -> Reply {
    match (reply, value) {
        (Reply::Array(items), Some(Value::Hash(_))) => {
            let mut pairs: Vec<_> = items.chunks(2).map(|pair| format!("{pair:?}")).collect();
            pairs.sort_unstable();
            Reply::Bulk(pairs.join("\n").into_bytes())
        }
        (reply, _) => reply,
    }
}

fn readable(step: &Step) -> String {
    match step {
        Step::Asked { micros, session, request, .. } => {
            let words: Vec<_> = request.iter().map(|word| String::from_utf8_lossy(word)).collect();
            format!("{micros} session {session}: {words:?}")
        }
        step => format!("{step:?}"),
    }
}

/// Runs in each mode, done once more.
fn compare(mode: RedisMode, seeds: usize) {
    let server = Redis::start();
    let (mut compared, mut scripts) = (0, 0);
    for seed in 0..seeds as u64 {
        let Steps::Redis(steps) = replay(Store::Redis(mode), seed).steps else { panic!("no steps") };
        let mut copy = Copy::new(server.port());
        for (at, step) in steps.iter().enumerate() {
            if let Err(text) = copy.step(step) {
                panic!("seed {seed}, step {at}: {text}\n{}", readable(step));
            }
        }
        (compared, scripts) = (compared + copy.compared, scripts + copy.scripts_run);
    }
    assert!(compared > seeds * 300 && scripts > seeds * 200, "only {compared} commands, {scripts} scripts");
}

macro_rules! in_each_mode {
    ($($name:ident: $mode:ident, $seeds:literal;)*) => {
        $(#[test]
        #[ignore = "needs redis-server"]
        fn $name() {
            compare(RedisMode::$mode, sized($seeds, 100 * $seeds));
        })*
    };
}

// A real server does the same in a run.
in_each_mode! {
    native: Native, 8;
    plain: Plain, 2;
    redisson: Redisson, 2;
    redisson_fair: RedissonFair, 4;
    redisson_read_write: RedissonReadWrite, 2;
    redisson_permits: RedissonPermits, 2;
}
