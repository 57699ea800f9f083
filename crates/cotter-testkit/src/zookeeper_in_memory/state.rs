//! The state of a server, and how a request is carried out.

use super::changes::{UNIMPLEMENTED, carry_out};
use super::jute::{Reader, Writer};
use super::requests::{Hello, Request};
use super::sessions::Sessions;
use super::steps::Step;
use super::tree::{Code, Transaction, Tree};
use super::watches::{Change, Watches};
use std::collections::BTreeMap;
use tokio::sync::mpsc::UnboundedSender;

pub(super) struct State {
    pub(super) tree: Tree,
    pub(super) sessions: Sessions,
    pub(super) watches: Watches,
    pub(super) connections: BTreeMap<u64, Peer>,
    pub(super) next: u64,
    /// The last transaction.
    pub(super) zxid: i64,
    pub(super) now: u64,
    /// How often it was started.
    pub(super) starts: u64,
    /// What has come while it stands still: the ends of connections are empty.
    pub(super) late: Option<Vec<(u64, Vec<u8>, bool)>>,
    /// The step that goes on.
    pub(super) step: Step,
    /// What has happened, if somebody wants to know.
    pub(super) log: Option<Vec<Step>>,
}

pub(super) struct Peer {
    pub(super) session: i64,
    pub(super) out: UnboundedSender<Vec<u8>>,
}

const EVENT: i32 = -1;
const CONNECTED: i32 = 3;

impl State {
    pub(super) fn over(&self) -> Vec<i64> {
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
    pub(super) fn hang_up(&mut self, connection: u64, noticed: bool) {
        let Some(peer) = self.connections.remove(&connection) else { return };
        self.step.ended.push(connection);
        self.watches.forget(connection);
        self.sessions.disconnect(peer.session, connection);
        if noticed {
            let _ = peer.out.send(Vec::new());
        }
    }

    /// The first message of a connection begins a session, or goes on with one.
    pub(super) fn greet(&mut self, connection: u64, message: &[u8]) {
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

    pub(super) fn carry_out(&mut self, connection: u64, message: &[u8]) {
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
    pub(super) fn end_session(&mut self, id: i64) -> Option<u64> {
        for path in self.tree.of(id) {
            self.delete(&path, id);
        }
        self.sessions.remove(id)
    }

    pub(super) fn delete(&mut self, path: &str, session: i64) -> bool {
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
