//! What a server has, and how a request is carried out.

use super::command::{Args, on_keys, whole, wrong_number};
use super::keyspace::Keyspace;
use super::reply::Reply;
use super::requests::Request;
use super::scripts::Scripts;
use super::session::Session;
use super::steps::{Step, keys_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A server. Cloning gives another handle.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    state: Arc<Mutex<State>>,
    scripts: Mutex<Scripts>,
    /// Microseconds since 1970.
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
}

/// What a server sends to one session. It ends when the server ends the session.
pub type Outgoing = UnboundedReceiver<Vec<u8>>;

/// Everything but the scripts.
#[derive(Default)]
pub(super) struct State {
    keyspace: Keyspace,
    sessions: BTreeMap<u64, Subscriber>,
    next: u64,
    /// How often the server was started.
    starts: u64,
    /// What has happened, if somebody wants to know.
    log: Option<Vec<Step>>,
}

struct Subscriber {
    channels: BTreeSet<Vec<u8>>,
    out: UnboundedSender<Vec<u8>>,
}

impl Server {
    /// A server that has nothing yet, with a clock in microseconds since 1970.
    ///
    /// # Panics
    /// There is no memory for an interpreter.
    pub fn new(clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let called = state.clone();
        let call = Arc::new(move |request: Request| match request.split_first() {
            Some((name, args)) => lock(&called).command(&String::from_utf8_lossy(name), args),
            None => Reply::error("ERR Please specify at least one argument for this redis.call() call"),
        });
        let scripts = Mutex::new(Scripts::new(call).expect("an interpreter"));
        Self(Arc::new(Shared { state, scripts, clock: Box::new(clock) }))
    }

    /// Opens a session.
    pub fn open(&self) -> (Session, Outgoing) {
        let (out, outgoing) = unbounded_channel();
        let mut state = self.state();
        state.next += 1;
        let number = state.next;
        state.note(|| Step::Opened(number));
        state.sessions.insert(number, Subscriber { channels: BTreeSet::new(), out });
        (Session::new(self.clone(), number), outgoing)
    }

    /// Ends all sessions and forgets the scripts. The keys are kept, as on a disk.
    pub fn restart(&self) {
        let mut state = self.state();
        for number in std::mem::take(&mut state.sessions).into_keys() {
            state.note(|| Step::Ended(number));
        }
        state.starts += 1;
        drop(state);
        lock(&self.0.scripts).flush();
    }

    /// Carries out a request that is about no session.
    pub fn call(&self, request: &[Vec<u8>]) -> Reply {
        let reply = self.answer(request);
        self.log(0, request, std::slice::from_ref(&reply));
        reply
    }

    pub(super) fn answer(&self, request: &[Vec<u8>]) -> Reply {
        let Some((name, args)) = request.split_first() else { return Reply::error("ERR empty command") };
        let name = String::from_utf8_lossy(name).to_uppercase();
        self.state().keyspace.micros = (self.0.clock)();
        match name.as_str() {
            "EVAL" => self.eval(args, |scripts, text| Some(scripts.load(text))),
            "EVALSHA" => self.eval(args, |scripts, hash| {
                let hash = String::from_utf8_lossy(hash).to_lowercase();
                scripts.knows(&hash).then_some(hash)
            }),
            "SCRIPT" => self.script(args),
            _ => self.state().command(&name, args),
        }
    }

    fn eval(&self, args: Args<'_>, find: impl Fn(&mut Scripts, &[u8]) -> Option<String>) -> Reply {
        let [script, count, rest @ ..] = args else { return wrong_number("eval") };
        let keys = whole(count).and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= rest.len());
        let Some(keys) = keys else {
            return Reply::error("ERR Number of keys can't be greater than number of args");
        };
        let mut scripts = lock(&self.0.scripts);
        match find(&mut scripts, script) {
            Some(hash) => scripts.run(&hash, &rest[..keys], &rest[keys..]),
            None => Reply::error("NOSCRIPT No matching script. Please use EVAL."),
        }
    }

    fn script(&self, args: Args<'_>) -> Reply {
        match args {
            [word, text] if word.eq_ignore_ascii_case(b"LOAD") => {
                Reply::bulk(lock(&self.0.scripts).load(text))
            }
            _ => Reply::error("ERR unknown subcommand of SCRIPT"),
        }
    }

    /// From now on, everything that happens is kept.
    pub fn record(&self) {
        self.state().log = Some(Vec::new());
    }

    /// What has happened since.
    pub fn recorded(&self) -> Vec<Step> {
        self.state().log.take().unwrap_or_default()
    }

    pub(super) fn log(&self, session: u64, request: &[Vec<u8>], replies: &[Reply]) {
        let mut state = self.state();
        if state.log.is_some() {
            let keys = keys_of(request).iter().map(|key| (key.clone(), state.keyspace.copy(key))).collect();
            let (micros, request, replies) = (state.keyspace.micros, request.to_vec(), replies.to_vec());
            state.note(|| Step::Asked { micros, session, request, replies, keys });
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn note(&mut self, step: impl FnOnce() -> Step) {
        if let Some(log) = &mut self.log {
            log.push(step());
        }
    }

    /// Carries out a command that a script may use too.
    fn command(&mut self, name: &str, args: Args<'_>) -> Reply {
        if let Some(reply) = on_keys(&mut self.keyspace, name, args) {
            return reply;
        }
        match (name.to_uppercase().as_str(), args) {
            ("TIME", []) => {
                let (seconds, micros) = (self.keyspace.micros / 1_000_000, self.keyspace.micros % 1_000_000);
                Reply::Array(vec![Reply::bulk(seconds.to_string()), Reply::bulk(micros.to_string())])
            }
            ("PUBLISH", [channel, message]) => Reply::count(self.publish(channel, message)),
            ("PUBSUB", [word, channels @ ..]) if word.eq_ignore_ascii_case(b"NUMSUB") => {
                let counted = channels.iter();
                let counted =
                    counted.flat_map(|c| [Reply::bulk(c), Reply::count(self.subscribers(c).count())]);
                Reply::Array(counted.collect())
            }
            ("INFO", _) => Reply::bulk(format!(
                "redis_version:7.0.15\r\nrun_id:{:040x}\r\nrole:master\r\nmaster_replid:{:040x}\r\n",
                self.starts + 1,
                self.starts + 1
            )),
            ("ROLE", []) => {
                Reply::Array(vec![Reply::bulk("master"), Reply::Int(0), Reply::Array(Vec::new())])
            }
            ("PING", []) => Reply::Status("PONG".into()),
            ("CLIENT" | "SELECT", _) => Reply::ok(),
            ("WAIT", [_, _]) => Reply::Int(0),
            _ => {
                let args: String =
                    args.iter().map(|arg| format!("'{}' ", String::from_utf8_lossy(arg))).collect();
                Reply::error(format!("ERR unknown command '{name}', with args beginning with: {args}"))
            }
        }
    }

    pub(super) fn end(&mut self, session: u64) {
        if self.sessions.remove(&session).is_some() {
            self.note(|| Step::Ended(session));
        }
    }

    fn subscribers(&self, channel: &[u8]) -> impl Iterator<Item = &Subscriber> {
        self.sessions.values().filter(move |session| session.channels.contains(channel))
    }

    fn publish(&self, channel: &[u8], message: &[u8]) -> usize {
        let mut bytes = Vec::new();
        Reply::Array(vec![Reply::bulk("message"), Reply::bulk(channel), Reply::bulk(message)])
            .encode(&mut bytes);
        let told = self.subscribers(channel);
        // A server does not know yet that a connection has ended, and counts it.
        told.map(|session| drop(session.out.send(bytes.clone()))).count()
    }

    pub(super) fn subscribe(&mut self, session: u64, channels: Args<'_>) -> Vec<Reply> {
        let Some(session) = self.sessions.get_mut(&session) else { return Vec::new() };
        let mut replies = Vec::new();
        for channel in channels {
            session.channels.insert(channel.clone());
            replies.push(change("subscribe", channel, session.channels.len()));
        }
        replies
    }

    pub(super) fn unsubscribe(&mut self, session: u64, channels: Args<'_>) -> Vec<Reply> {
        let Some(session) = self.sessions.get_mut(&session) else { return Vec::new() };
        let mut replies = Vec::new();
        for channel in channels {
            session.channels.remove(channel);
            replies.push(change("unsubscribe", channel, session.channels.len()));
        }
        replies
    }

    pub(super) fn listens(&self, session: u64) -> bool {
        self.sessions.get(&session).is_some_and(|session| !session.channels.is_empty())
    }

    /// False if there is no such session any more.
    pub(super) fn send(&self, session: u64, replies: &[Reply]) -> bool {
        let mut bytes = Vec::new();
        replies.iter().for_each(|reply| reply.encode(&mut bytes));
        self.sessions.get(&session).map(|session| drop(session.out.send(bytes))).is_some()
    }
}

fn change(what: &str, channel: &[u8], count: usize) -> Reply {
    Reply::Array(vec![Reply::bulk(what), Reply::bulk(channel), Reply::count(count)])
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}
