//! A server, and what may happen to it.

use super::connection::Connection;
use super::sessions::{Leader, Sessions};
use super::state::{Peer, State};
use super::steps::{Happened, Step};
use super::tree::Tree;
use super::watches::Watches;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

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

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}
