//! What a server has, and how a request is carried out.

use super::changes::{UNIMPLEMENTED, carry_out};
use super::connection::Connection;
use super::jute::{Reader, Writer};
use super::requests::{Hello, Request};
use super::sessions::{Leader, Sessions};
use super::steps::{Happened, Step};
use super::tree::{Code, Transaction, Tree};
use super::watches::{Change, Watches};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A server. Cloning gives another handle.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Milliseconds since 1970.
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
}

/// What a server sends over one connection: messages, and nothing where it hangs up.
pub type Outgoing = UnboundedReceiver<Vec<u8>>;

struct State {
    tree: Tree,
    sessions: Sessions,
    watches: Watches,
    connections: BTreeMap<u64, Peer>,
    next: u64,
    /// The last transaction.
    zxid: i64,
    now: u64,
    /// How often it was started.
    starts: u64,
    /// What has come while it stands still: the ends of connections are empty.
    late: Option<Vec<(u64, Vec<u8>, bool)>>,
    /// The step that goes on.
    step: Step,
    /// What has happened, if somebody wants to know.
    log: Option<Vec<Step>>,
}

struct Peer {
    session: i64,
    out: UnboundedSender<Vec<u8>>,
}

const EVENT: i32 = -1;
const CONNECTED: i32 = 3;

impl Server {
    /// A server that has nothing yet, with a clock in milliseconds since 1970 and ticks of so many of them.
    pub fn new(clock: impl Fn() -> u64 + Send + Sync + 'static, leader: Leader, tick: u64) -> Self {
        let state = State {
            tree: Tree::default(),
            sessions: Sessions::new(leader, tick),
            watches: Watches::default(),
            connections: BTreeMap::new(),
            next: 0,
            zxid: 0,
            now: clock(),
            starts: 0,
            late: None,
            step: Step { what: Happened::Restarted, said: Vec::new(), ended: Vec::new() },
            log: None,
        };
        Self(Arc::new(Shared { state: Mutex::new(state), clock: Box::new(clock) }))
    }

    /// Opens a connection.
    pub fn open(&self) -> (Connection, Outgoing) {
        let (out, outgoing) = unbounded_channel();
        let number = self.step(|state| {
            state.next += 1;
            state.connections.insert(state.next, Peer { session: 0, out });
            (Some(Happened::Opened(state.next)), state.next)
        });
        (Connection::new(self.clone(), number), outgoing)
    }

    /// Time has passed: what was not heard of for too long ends.
    pub fn tick(&self) {
        let over = self.step(|state| (None, state.over()));
        for id in over {
            self.step(|state| {
                state.zxid += 1;
                let connection = state.end_session(id);
                connection.into_iter().for_each(|connection| state.hang_up(connection, true));
                (Some(Happened::Expired(id)), ())
            });
        }
    }

    /// The leader is told of which sessions the server has heard.
    pub fn tell_leader(&self) {
        self.step(|state| (None, state.sessions.tell(state.now)));
    }

    /// Connections end, which their clients notice each other time; nodes and sessions are kept, as on a disk.
    pub fn restart(&self) {
        self.step(|state| {
            state.starts += 1;
            let noticed = state.starts % 2 == 1;
            state.late = None;
            let connections: Vec<_> = state.connections.keys().copied().collect();
            connections.into_iter().for_each(|number| state.hang_up(number, noticed));
            state.sessions.renew(state.now);
            (Some(Happened::Restarted), ())
        });
    }

    /// Nothing is carried out any more, until it goes on.
    pub fn stand_still(&self) {
        self.step(|state| (None, _ = state.late.get_or_insert_default()));
    }

    /// Carries out what has come meanwhile; before that or after it, ends the sessions that were not heard of.
    pub fn go_on(&self) {
        let (late, ticks_first) =
            self.step(|state| (None, (state.late.take().unwrap_or_default(), state.zxid % 2 == 0)));
        if ticks_first {
            self.tick();
        }
        for (connection, message, is_first) in late {
            match message.is_empty() {
                true => self.left(connection),
                false => _ = self.asked(connection, &message, is_first),
            }
        }
    }

    /// Deletes a node, as an operator does. False if it cannot.
    pub fn delete(&self, path: &str) -> bool {
        self.step(|state| {
            state.zxid += 1;
            let deleted = state.delete(path, 0);
            (deleted.then(|| Happened::Deleted(path.to_owned())), deleted)
        })
    }

    /// Deletes the containers that are not needed any more.
    pub fn clear_up(&self) {
        let deserted = self.step(|state| (None, state.tree.deserted()));
        deserted.iter().for_each(|path| _ = self.delete(path));
    }

    /// The children of a node, and their data.
    pub fn children(&self, path: &str) -> Vec<(String, Vec<u8>)> {
        self.step(|state| {
            let names = state.tree.get(path).map(|node| node.children.clone()).unwrap_or_default();
            let read = |name: String| {
                let data = state.tree.get(&format!("{path}/{name}")).map(|node| node.data.clone());
                (name, data.unwrap_or_default())
            };
            (None, names.into_iter().map(read).collect())
        })
    }

    /// From now on, everything that happens is kept.
    pub fn record(&self) {
        self.step(|state| (None, state.log = Some(Vec::new())));
    }

    /// What has happened since.
    pub fn recorded(&self) -> Vec<Step> {
        self.step(|state| (None, state.log.take().unwrap_or_default()))
    }

    /// A message has come. False where nobody listens any more.
    pub(super) fn asked(&self, connection: u64, message: &[u8], is_first: bool) -> bool {
        self.step(|state| {
            if !state.connections.contains_key(&connection) {
                return (None, false);
            }
            if let Some(late) = &mut state.late {
                late.push((connection, message.to_vec(), is_first));
                return (None, true);
            }
            match is_first {
                true => state.greet(connection, message),
                false => state.carry_out(connection, message),
            }
            (Some(Happened::Asked(connection, message.to_vec())), true)
        })
    }

    pub(super) fn left(&self, connection: u64) {
        self.step(|state| {
            if let Some(late) = &mut state.late {
                late.push((connection, Vec::new(), false));
                return (None, ());
            }
            let was_there = state.connections.contains_key(&connection);
            state.hang_up(connection, false);
            (was_there.then_some(Happened::Left(connection)), ())
        });
    }

    fn step<T>(&self, work: impl FnOnce(&mut State) -> (Option<Happened>, T)) -> T {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.now = (self.0.clock)();
        let (what, result) = work(&mut state);
        let (said, ended) = (std::mem::take(&mut state.step.said), std::mem::take(&mut state.step.ended));
        if let (Some(log), Some(what)) = (&mut state.log, what) {
            log.push(Step { what, said, ended });
        }
        result
    }
}

impl State {
    fn over(&self) -> Vec<i64> {
        if self.late.is_some() { Vec::new() } else { self.sessions.over(self.now) }
    }

    fn send(&mut self, to: u64, message: Writer) {
        let Some(peer) = self.connections.get(&to) else { return };
        let message = message.finish();
        if self.log.is_some() {
            self.step.said.push((to, message[4..].to_vec()));
        }
        let _ = peer.out.send(message);
    }

    /// Ends a connection, and not its session.
    fn hang_up(&mut self, connection: u64, noticed: bool) {
        let Some(peer) = self.connections.remove(&connection) else { return };
        self.step.ended.push(connection);
        self.watches.forget(connection);
        self.sessions.disconnect(peer.session, connection);
        if noticed {
            let _ = peer.out.send(Vec::new());
        }
    }

    /// The first message of a connection begins a session, or goes on with one.
    fn greet(&mut self, connection: u64, message: &[u8]) {
        let hello = Hello::read(&mut Reader(message)).filter(|hello| hello.seen <= self.zxid);
        // It is behind what the client has seen.
        let Some(hello) = hello else { return self.hang_up(connection, true) };
        let timeout = self.sessions.allowed(hello.timeout);
        let id = match hello.session {
            0 => {
                self.zxid += 1;
                Some(self.sessions.begin(timeout, connection, self.now))
            }
            id if hello.password != password(id) => None,
            id => match self.sessions.go_on(id, timeout, connection, self.now) {
                Some(before) => {
                    before.into_iter().for_each(|before| self.hang_up(before, true));
                    Some(id)
                }
                None => None,
            },
        };
        let welcome = Writer::default().int(0);
        let Some(id) = id else {
            self.send(connection, welcome.int(0).long(0).bytes(&[0; 16]).flag(false));
            return self.hang_up(connection, true);
        };
        if let Some(peer) = self.connections.get_mut(&connection) {
            peer.session = id;
        }
        self.send(connection, welcome.int(timeout as i32).long(id).bytes(&password(id)).flag(false));
    }

    fn carry_out(&mut self, connection: u64, message: &[u8]) {
        let Some(session) = self.connections.get(&connection).map(|peer| peer.session) else { return };
        self.sessions.touch(session, self.now);
        let mut from = Reader(message);
        let (Some(xid), Some(code)) = (from.int(), from.int()) else {
            return self.hang_up(connection, true);
        };
        let Some(request) = Request::read(code, &mut from) else {
            self.send(connection, Writer::default().int(xid).long(0).int(UNIMPLEMENTED));
            return self.hang_up(connection, true);
        };
        let body = self.answer(connection, session, &request);
        // The head is known when everything else is.
        let head = Writer::default().int(xid).long(self.zxid);
        self.send(
            connection,
            match body {
                Ok(body) => head.int(0).then(&body),
                Err(code) => head.int(code),
            },
        );
        if matches!(request, Request::Close) {
            self.hang_up(connection, true);
        }
    }

    fn answer(&mut self, connection: u64, session: i64, request: &Request) -> Result<Writer, Code> {
        let body = Writer::default();
        match request {
            Request::Exists { path, watch } => {
                if *watch {
                    self.watches.data(path, connection);
                }
                Ok(self.tree.get(path)?.stat(body))
            }
            Request::Get { path, watch } => {
                let node = self.tree.get(path)?;
                if *watch {
                    self.watches.data(path, connection);
                }
                Ok(node.stat(body.bytes(&node.data)))
            }
            Request::Children { path, watch } => {
                let names = &self.tree.get(path)?.children;
                if *watch {
                    self.watches.children(path, connection);
                }
                Ok(names.iter().fold(body.int(names.len() as i32), |body, name| body.text(name)))
            }
            Request::Sync { path } => Ok(body.text(path)),
            Request::Ping => Ok(body),
            Request::Check { .. } => Err(UNIMPLEMENTED),
            Request::Close => {
                self.zxid += 1;
                self.end_session(session);
                Ok(body)
            }
            change => {
                self.zxid += 1;
                let by = self.transaction(session);
                let (body, events) = carry_out(&mut self.tree, change, by, body)?;
                self.tell(events);
                Ok(body)
            }
        }
    }

    fn transaction(&self, session: i64) -> Transaction {
        Transaction { zxid: self.zxid, at: self.now as i64, session }
    }

    /// Ends a session with its nodes. Returns its connection.
    fn end_session(&mut self, id: i64) -> Option<u64> {
        for path in self.tree.of(id) {
            self.delete(&path, id);
        }
        self.sessions.remove(id)
    }

    fn delete(&mut self, path: &str, session: i64) -> bool {
        let deletion = Request::Delete { path: path.to_owned(), version: -1 };
        let by = self.transaction(session);
        let done = carry_out(&mut self.tree, &deletion, by, Writer::default());
        done.map(|(_, events)| self.tell(events)).is_ok()
    }

    /// Whoever watches learns of this, before the answer to whoever did it.
    fn tell(&mut self, events: Vec<(Change, String)>) {
        for (change, path) in events {
            for (connection, change, path) in self.watches.fire(change, &path) {
                let event = Writer::default().int(EVENT).long(-1).int(0);
                self.send(connection, event.int(change as i32).int(CONNECTED).text(&path));
            }
        }
    }
}

/// The password of a session.
fn password(id: i64) -> [u8; 16] {
    let (one, other) = (id.to_be_bytes(), (!id).to_be_bytes());
    std::array::from_fn(|at| if at < 8 { one[at] } else { other[at - 8] })
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}
