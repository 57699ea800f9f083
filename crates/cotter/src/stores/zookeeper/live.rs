//! One connection: requests go out in the order in which they are made, and are answered in that order.

use super::connector::{Opened, read_message};
use super::errors::{Failure, NO_AUTH};
use super::messages::{EVENT_XID, Event, Head, Op};
use super::records::Reader;
use super::replies::{Data, Outcome, Reply};
use crate::backend::{ClaimId, Host};
use crate::stores::shared::net::Stream;
use crate::sync::lock;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncWriteExt, BufReader, ReadHalf, WriteHalf, split};
use tokio::sync::{Notify, oneshot, watch};

/// A connection to one member. It ends when it is closed, breaks, or carries something that cannot be read.
#[derive(Debug)]
pub(super) struct Live {
    /// Which of the hosts it leads to.
    pub(super) host: usize,
    state: Mutex<State>,
    written: Notify,
    ended: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    last: i32,
    /// The messages to send, in order.
    out: Vec<u8>,
    /// The requests without an answer, in order.
    pending: VecDeque<(i32, Asker)>,
    has_ended: bool,
}

/// The receiver of an answer.
#[derive(Debug)]
enum Asker {
    /// Whoever waits for it: the message, without what is before its body.
    Task(oneshot::Sender<Result<Answer, Failure>>),
    /// The seat of this claim, which has read its own node.
    Seat(ClaimId),
}

/// A message, and where its body begins.
type Answer = (Vec<u8>, usize);

/// An event that a connection reports without a request.
pub(super) trait Listener: Send + Sync + 'static {
    /// A watch has something to tell.
    fn on_event(&self, live: &Live, event: Event);
    /// The node of a seat was read.
    fn on_seat(&self, live: &Live, id: ClaimId, node: Result<Data, Failure>);
    /// The server has told of the state after this transaction.
    fn on_state(&self, zxid: i64);
}

impl Live {
    /// Begins to send and to receive, on the engine.
    pub(super) fn start(opened: Opened, listener: Arc<impl Listener>, engine: &Host) -> Arc<Self> {
        let (ended, _) = watch::channel(false);
        let Opened { stream, host, .. } = opened;
        let live = Arc::new(Self { host, state: Mutex::default(), written: Notify::new(), ended });
        let running = live.clone();
        engine.spawn(async move {
            let (from, to) = split(stream);
            let mut ended = running.ended.subscribe();
            tokio::select! {
                _ = running.read(from, &*listener) => {}
                _ = running.write(to) => {}
                _ = ended.wait_for(|ended| *ended) => {}
            }
            running.end();
        });
        live
    }

    /// Sends a request now, behind all that were sent before. The future waits for its answer; the request is carried out
    /// whether somebody waits for that or not.
    pub(super) fn ask<R: Reply>(&self, op: &Op) -> impl Future<Output = Result<R, Failure>> + Send + use<R> {
        let (tell, told) = oneshot::channel();
        self.send(op, Asker::Task(tell));
        async move {
            let (message, body) = told.await.unwrap_or(Err(Failure::Ended))?;
            R::read(&mut Reader(&message[body..])).ok_or(Failure::Garbled)
        }
    }

    /// Asks a majority to agree to nothing. Whatever was agreed to before is known to this server when it answers.
    pub(super) fn agree(&self) -> impl Future<Output = Result<(), Failure>> + Send + use<> {
        let answer = self.ask::<Outcome>(&Op::nothing());
        async move {
            match answer.await? {
                // Who may not read the root gets a refusal, which is a transaction as well.
                Outcome::Done(_) | Outcome::Failed(_, NO_AUTH) => Ok(()),
                Outcome::Failed(_, code) => Err(Failure::Code(code)),
            }
        }
    }

    /// Reads the node of a seat, and watches it. The listener receives the answer.
    pub(super) fn look_at_seat(&self, id: ClaimId, path: &str) {
        self.send(&Op::watch(path), Asker::Seat(id));
    }

    fn send(&self, op: &Op, asker: Asker) {
        let mut state = lock(&self.state);
        if state.has_ended {
            return;
        }
        state.last = state.last.checked_add(1).unwrap_or(1);
        let xid = state.last;
        state.out.extend_from_slice(&op.message(xid));
        state.pending.push_back((xid, asker));
        drop(state);
        self.written.notify_one();
    }

    async fn write(&self, mut to: WriteHalf<Box<dyn Stream>>) -> io::Result<()> {
        loop {
            let out = std::mem::take(&mut lock(&self.state).out);
            if out.is_empty() {
                self.written.notified().await;
                continue;
            }
            to.write_all(&out).await?;
            to.flush().await?;
        }
    }

    async fn read(&self, from: ReadHalf<Box<dyn Stream>>, listener: &impl Listener) -> io::Result<()> {
        let mut from = BufReader::new(from);
        loop {
            let message = read_message(&mut from).await?;
            if self.on_message(message, listener).is_none() {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }

    /// `None` for a message that is not understood: whatever follows may belong to another request.
    fn on_message(&self, message: Vec<u8>, listener: &impl Listener) -> Option<()> {
        let mut body = Reader(&message);
        let head = Head::read(&mut body)?;
        if head.zxid > 0 {
            listener.on_state(head.zxid);
        }
        if head.xid == EVENT_XID {
            if let Some(event) = Event::read(body) {
                listener.on_event(self, event);
            }
            return Some(());
        }
        if head.xid < 0 {
            return Some(());
        }
        let (xid, asker) = lock(&self.state).pending.pop_front()?;
        if xid != head.xid {
            return None;
        }
        match asker {
            Asker::Task(tell) => {
                let begin = message.len() - body.0.len();
                let answer =
                    if head.code == 0 { Ok((message, begin)) } else { Err(Failure::Code(head.code)) };
                let _ = tell.send(answer);
            }
            Asker::Seat(id) => {
                let node = match head.code {
                    0 => Data::read(&mut body).ok_or(Failure::Garbled),
                    code => Err(Failure::Code(code)),
                };
                listener.on_seat(self, id, node);
            }
        }
        Some(())
    }

    pub(super) fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Ends the connection. Requests without an answer get none.
    pub(super) fn end(&self) {
        let mut state = lock(&self.state);
        state.has_ended = true;
        let pending = std::mem::take(&mut state.pending);
        drop(state);
        self.ended.send_replace(true);
        drop(pending);
    }

    /// Completes when the connection has ended.
    pub(super) async fn until_ended(&self) {
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }
}
