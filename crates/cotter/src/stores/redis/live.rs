//! A connection to the server, shared by many requests.

use super::errors;
use super::sentinel::Term;
use super::sentinel::role::Role;
use super::tracked::{SocketState, never_sent};
use crate::Moment;
use crate::stores::shared::net::{self, Idle, next_number};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, RedisResult, Value};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use tokio::sync::OnceCell;
use tokio::task::AbortHandle;

/// A server that has not carried out so many steps in a row is connected to anew: the address may lead to another one by now.
const REFUSALS: u32 = 3;

const UNKNOWN: u8 = 0;
const MASTER: u8 = 1;
/// The user may not ask.
const DENIED: u8 = 2;

/// One connection.
pub(super) struct Live {
    wire: MultiplexedConnection,
    /// Unique in this process.
    pub(super) number: u64,
    /// The server is too old for script flags.
    legacy: AtomicBool,
    /// It leads through a proxy that closes it at any command that it does not forward.
    pub(super) through_proxy: bool,
    /// It asks a node of a cluster for keys of slots that it does not have yet.
    pub(super) asks: bool,
    /// Not if it says that `SCRIPT` is an unknown command.
    pub(super) knows_scripts: bool,
    /// The id of the run of the server, once it was requested.
    pub(super) run: OnceCell<String>,
    socket: Arc<SocketState>,
    /// The task that drives the socket. `None` if the driver crate has opened the connection, and drives it.
    driver: Option<AbortHandle>,
    /// The term of the master that it leads to, if sentinels have named that.
    term: Option<Term>,
    /// The task that ends the connection with the term.
    ending: Option<AbortHandle>,
    idle: Idle,
    answers: AtomicU64,
    /// How many steps in a row the server has not carried out.
    refusals: AtomicU32,
    /// What the server has said that it is.
    role: AtomicU8,
    broken: AtomicBool,
}

impl Live {
    pub(super) fn new(
        wire: MultiplexedConnection,
        legacy: bool,
        socket: Arc<SocketState>,
        driver: Option<AbortHandle>,
    ) -> Self {
        Self {
            wire,
            number: next_number(),
            legacy: AtomicBool::new(legacy),
            through_proxy: false,
            asks: false,
            knows_scripts: true,
            run: OnceCell::new(),
            socket,
            driver,
            term: None,
            ending: None,
            idle: Idle::new(),
            answers: AtomicU64::new(0),
            refusals: AtomicU32::new(0),
            role: AtomicU8::new(UNKNOWN),
            broken: AtomicBool::new(false),
        }
    }

    /// Leads to the master of this term. When `over` completes, requests that wait for an answer fail.
    pub(super) fn lead(&mut self, term: Term, over: impl Future<Output = ()> + Send + 'static) {
        let driver = self.driver.clone();
        let ending = tokio::spawn(async move {
            over.await;
            driver.iter().for_each(AbortHandle::abort);
        });
        (self.term, self.ending) = (Some(term), Some(ending.abort_handle()));
    }

    /// Completes when the server is not the master any more, if sentinels say so.
    pub(super) async fn over(&self) {
        match &self.term {
            Some(term) => term.over().await,
            None => std::future::pending().await,
        }
    }

    /// Whether the server is known to be too old for script flags.
    pub(super) fn is_legacy(&self) -> bool {
        self.legacy.load(Ordering::Relaxed)
    }

    /// The server has refused a script because of its flags.
    pub(super) fn set_legacy(&self) {
        self.legacy.store(true, Ordering::Relaxed);
    }

    /// Sends a command and waits for its answer. Commands run in the order of their first poll. A command whose future is
    /// dropped runs all the same, unless it was still waiting for space in the send buffer.
    pub(super) async fn query(&self, cmd: &Cmd) -> RedisResult<Value> {
        let (before, written) = (self.answers.load(Ordering::Relaxed), self.socket.written());
        let _asking = self.socket.asking();
        let answer = match self.asks {
            false => cmd.query_async::<Value>(&mut self.wire.clone()).await,
            true => Box::pin(self.ask(cmd)).await,
        };
        match answer {
            Ok(_) => _ = self.answers.fetch_add(1, Ordering::Relaxed),
            Err(ref e) => self.judge(e, before),
        }
        // If the driver has ended and nothing was written since, the server has not seen the request.
        answer.map_err(|e| match self.driver.is_some() && e.is_connection_dropped() {
            true if self.socket.written() == written => never_sent(),
            _ => e,
        })
    }

    /// Each command needs a permission of its own, right before it.
    async fn ask(&self, cmd: &Cmd) -> RedisResult<Value> {
        let mut both = redis::pipe();
        both.cmd("ASKING").ignore().add_command(cmd.clone());
        let mut answers: Vec<RedisResult<Value>> =
            both.ignore_errors().query_async(&mut self.wire.clone()).await?;
        answers.pop().unwrap_or(Ok(Value::Nil))
    }

    /// The server is not the master any more: neither this connection nor any other to it is used.
    fn leave(&self) {
        self.broken.store(true, Ordering::Release);
        self.term.iter().for_each(Term::end);
    }

    /// The server has carried out a step that it had to write. One that refuses writes still answers reads.
    pub(super) fn carried_out(&self) {
        if self.refusals.load(Ordering::Relaxed) > 0 {
            self.refusals.store(0, Ordering::Relaxed);
        }
    }

    /// Asks a server that was the master whether it still is. If it is a replica, this connection is not used any more.
    pub(super) async fn leave_a_replica(&self) -> bool {
        // A proxy would close it at the question. A user who may not ask is not asked for again.
        if self.through_proxy || self.role.load(Ordering::Relaxed) == DENIED {
            return false;
        }
        let role = match self.query(&redis::cmd("ROLE")).await {
            Ok(answer) => Role::parse(answer),
            Err(e) if e.code().is_some() && !errors::is_refusal(&e) => {
                self.role.store(DENIED, Ordering::Relaxed);
                None
            }
            Err(_) => None,
        };
        let was_master = self.role.load(Ordering::Relaxed) == MASTER;
        match role {
            Some(Role::Master) => self.role.store(MASTER, Ordering::Relaxed),
            Some(Role::Replica { .. }) if was_master => {
                self.leave();
                return true;
            }
            _ => {}
        }
        false
    }

    /// Sends several commands at once; the answer to each.
    pub(super) async fn pipeline(&self, commands: &mut Pipeline) -> RedisResult<Vec<RedisResult<Value>>> {
        commands.ignore_errors().query_async(&mut self.wire.clone()).await
    }

    /// Sends a command without waiting for its answer.
    pub(super) async fn send(&self, cmd: &mut Cmd) {
        cmd.set_no_response(true);
        let _ = cmd.query_async::<Value>(&mut self.wire.clone()).await;
    }

    /// Decides whether the connection is still usable after an error. It is not if nothing at all was answered on it for
    /// the whole timeout of a request.
    fn judge(&self, e: &RedisError, answers_before: u64) {
        let silent = e.is_timeout() && self.answers.load(Ordering::Relaxed) == answers_before;
        if e.code().is_some() {
            self.answers.fetch_add(1, Ordering::Relaxed);
        }
        if silent || (!e.is_timeout() && e.is_unrecoverable_error()) {
            self.broken.store(true, Ordering::Release);
        }
        if errors::is_refusal(e) && self.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= REFUSALS {
            self.broken.store(true, Ordering::Release);
        }
        if errors::is_demoted(e) {
            self.leave();
        }
    }
}

impl net::Live for Live {
    fn is_usable(&self) -> bool {
        !self.broken.load(Ordering::Acquire)
            && !self.socket.has_ended()
            && !self.term.as_ref().is_some_and(Term::is_over)
    }

    fn may_be_stale(&self, now: impl FnOnce() -> Moment) -> bool {
        self.idle.may_be_stale(now)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.driver.iter().chain(&self.ending).for_each(AbortHandle::abort);
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("number", &self.number).finish_non_exhaustive()
    }
}
