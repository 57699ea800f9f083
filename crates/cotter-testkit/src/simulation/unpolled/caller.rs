//! Starts, polls, keeps, drops and finishes operations.

use super::held::Hands;
use super::operation::{
    Came, Future_, Holder, Operation, ending, millis, of_client, of_guard, of_ticket, told,
};
use crate::history::Kind;
use cotter::{Client, Owner, Ticket};
use rand::RngExt;
use rand::rngs::StdRng;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Somebody who drives all operations of all clients.
pub(super) struct Caller {
    pub(super) clients: Vec<Client>,
    owners: Vec<Vec<Owner>>,
    rng: StdRng,
    pub(super) asked: Vec<Asked>,
    pub(super) held: Hands,
    pub(super) tickets: Vec<Ticket>,
    /// When the grace of each client ends that was closed.
    pub(super) closed: Vec<Option<Instant>>,
    pub(super) dropped: usize,
    origin: Instant,
    next: usize,
    told: usize,
    pub(super) history: Vec<String>,
}

/// An operation in the hands of its caller, or in a task.
pub(super) struct Asked {
    number: usize,
    client: usize,
    pub(super) what: String,
    pub(super) future: Running,
    within: Option<Duration>,
    owner: Option<usize>,
    goes_on: bool,
}

impl Asked {
    /// Whether it waits for a lock that others may hold.
    pub(super) fn waits(&self) -> bool {
        self.within.is_none()
    }
}

pub(super) enum Running {
    Kept(Future_),
    /// It is polled whenever it asks for it.
    Task(JoinHandle<Came>, Instant),
}

/// Operations that are kept at once.
const MOST: usize = 14;
/// `close` takes no longer after the end of its grace: the last releases, and a request that is answered slowly.
const LAST: Duration = Duration::from_millis(1_500);

impl Caller {
    pub(super) fn new(clients: Vec<Client>, rng: StdRng, held: Hands) -> Self {
        Self {
            owners: clients.iter().map(|_| vec![Owner::new(), Owner::new()]).collect(),
            closed: vec![None; clients.len()],
            clients,
            rng,
            asked: Vec::new(),
            held,
            tickets: Vec::new(),
            dropped: 0,
            origin: Instant::now(),
            next: 0,
            told: 0,
            history: Vec::new(),
        }
    }

    pub(super) async fn steps(&mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
            self.pause().await;
            self.check();
        }
    }

    fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..25 => self.ask_client(),
            25..40 => self.ask_guard(),
            40..55 => self.end_guard(),
            55..58 => self.ask_ticket(),
            58..59 => self.close(),
            59..65 => self.drop_one(),
            65..80 => self.run_one(),
            _ => self.poll_one(),
        }
        if self.asked.len() > MOST {
            self.drop_one();
        }
        self.collect();
    }

    /// Gives the engine its turn, or time to work, or more than the lease.
    async fn pause(&mut self) {
        match self.rng.random_range(0..20) {
            0..8 => tokio::task::yield_now().await,
            8..15 => tokio::time::sleep(millis(&mut self.rng, 20)).await,
            15..19 => tokio::time::sleep(millis(&mut self.rng, 400)).await,
            _ => tokio::time::sleep(millis(&mut self.rng, 3_000)).await,
        }
    }

    fn any(&mut self, of: usize) -> Option<usize> {
        (of > 0).then(|| self.rng.random_range(0..of))
    }

    fn ask_client(&mut self) {
        let client = self.rng.random_range(0..self.clients.len());
        let operation = of_client(&self.clients[client], &self.owners[client], &mut self.rng);
        self.ask(client, operation);
    }

    fn ask_guard(&mut self) {
        let Some(at) = self.any(self.held.all.len()) else { return };
        let held = &self.held.all[at];
        let (client, id) = (held.client, held.id);
        let mut operation = of_guard(&self.clients[client], &held.holder.guards()[0], &mut self.rng);
        operation.what = format!("{} of {id}", operation.what);
        self.ask(client, operation);
    }

    fn end_guard(&mut self) {
        let Some(at) = self.any(self.held.all.len()) else { return };
        let held = self.held.take(at);
        if self.rng.random_bool(0.3) {
            self.write(format_args!("drops {}", held.id));
            return;
        }
        let mut operation = ending(&self.clients[held.client], held.holder, &mut self.rng);
        operation.what = format!("{} of {}", operation.what, held.id);
        operation.owner = held.owner.filter(|_| operation.goes_on);
        self.ask(held.client, operation);
    }

    fn ask_ticket(&mut self) {
        let Some(at) = self.any(self.tickets.len()) else { return };
        let client = self.rng.random_range(0..self.clients.len());
        let operation = of_ticket(&self.clients[client], &self.tickets[at], &mut self.rng);
        self.ask(client, operation);
    }

    fn close(&mut self) {
        let (client, grace) = (self.rng.random_range(0..self.clients.len()), millis(&mut self.rng, 2_000));
        let closed = self.clients[client].clone();
        let mut operation = Operation::new(format!("close within {grace:?}"), closed.close(grace), told);
        operation.within = Some(grace + LAST);
        // From its first poll on it goes on by itself.
        let _ = operation.future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let end = Instant::now() + grace + LAST;
        self.closed[client].get_or_insert(end);
        self.held.closing.push(client);
        self.write(format_args!("client {client} closes within {grace:?}"));
    }

    fn ask(&mut self, client: usize, operation: Operation) {
        let Operation { what, future, within, owner, goes_on } = operation;
        self.next += 1;
        let number = self.next;
        self.write(format_args!("{number}: client {client}, owner {owner:?}: {what}"));
        self.asked.push(Asked {
            number,
            client,
            what,
            future: Running::Kept(future),
            within,
            owner,
            goes_on,
        });
        if self.rng.random_bool(0.7) {
            self.poll(self.asked.len() - 1);
        }
    }

    fn poll_one(&mut self) {
        if let Some(at) = self.any(self.asked.len()) {
            self.poll(at);
        }
    }

    /// Polls once, and is not woken.
    fn poll(&mut self, at: usize) {
        let Asked { number, future: Running::Kept(future), .. } = &mut self.asked[at] else { return };
        let number = *number;
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => self.write(format_args!("{number}: polled")),
            Poll::Ready(came) => {
                let asked = self.asked.remove(at);
                self.came(&asked, came);
            }
        }
    }

    fn drop_one(&mut self) {
        let Some(at) = self.any(self.asked.len()) else { return };
        let asked = self.asked.remove(at);
        self.dropped += 1;
        self.write(format_args!("{}: dropped", asked.number));
        if let Running::Task(task, _) = asked.future {
            task.abort();
        }
    }

    fn run_one(&mut self) {
        let Some(at) = self.any(self.asked.len()) else { return };
        self.run(at);
    }

    /// Somebody awaits it from now on.
    pub(super) fn run(&mut self, at: usize) {
        let asked = self.asked.remove(at);
        let future = match asked.future {
            Running::Kept(future) => {
                self.write(format_args!("{}: runs", asked.number));
                Running::Task(tokio::spawn(future), Instant::now())
            }
            running @ Running::Task(..) => running,
        };
        self.asked.push(Asked { future, ..asked });
    }

    /// Takes the results of those that are done.
    pub(super) fn collect(&mut self) {
        let mut at = 0;
        while at < self.asked.len() {
            match &mut self.asked[at].future {
                Running::Task(task, _) if task.is_finished() => {
                    let done = std::pin::Pin::new(task).poll(&mut Context::from_waker(Waker::noop()));
                    let asked = self.asked.remove(at);
                    match done {
                        Poll::Ready(Ok(came)) => self.came(&asked, came),
                        _ => self.held.wrong(Kind::Void, format!("{} has panicked", asked.what)),
                    }
                }
                _ => at += 1,
            }
        }
    }

    fn came(&mut self, asked: &Asked, came: Came) {
        let text = match came {
            Came::To(text) => text,
            Came::Ticket(ticket) => {
                self.tickets.push(ticket);
                "a ticket".to_owned()
            }
            Came::Held(holder) => self.got(asked, holder),
        };
        self.write(format_args!("{}: {text}", asked.number));
        self.tell_violations();
    }

    fn tell_violations(&mut self) {
        for n in self.told..self.held.violations.len() {
            let text = self.held.violations[n].to_string();
            self.write(format_args!("{text}"));
        }
        self.told = self.held.violations.len();
    }

    fn got(&mut self, asked: &Asked, holder: Holder) -> String {
        let valid = holder.guards().iter().all(cotter::Guard::is_valid);
        let tokens: Vec<_> =
            holder.guards().iter().map(|guard| guard.token().get() % 1_000_000_000).collect();
        let id = self.held.got(asked.client, asked.owner, asked.goes_on, holder);
        format!("holds {id} with {tokens:?}{}", if valid { "" } else { ", lost already" })
    }

    /// All that must hold at every moment.
    pub(super) fn check(&mut self) {
        self.collect();
        self.held.check();
        let now = Instant::now();
        for asked in &mut self.asked {
            let (Running::Task(_, since), Some(within)) = (&asked.future, asked.within) else { continue };
            if now - *since > within {
                let text = format!("{}: {} is not done after {:?}", asked.number, asked.what, now - *since);
                self.held.wrong(Kind::StuckWaiter, text);
                asked.within = None;
            }
        }
        for held in &self.held.all {
            let is_over = self.closed[held.client].is_some_and(|end| now > end);
            if is_over && held.holder.guards().iter().any(cotter::Guard::is_valid) {
                let text = format!("{} is valid, and client {} was closed", held.id, held.client);
                self.held.violations.push(crate::history::violation(Kind::UsedAfterLoss, text));
            }
        }
        self.tell_violations();
    }

    pub(super) fn write(&mut self, what: std::fmt::Arguments<'_>) {
        let at = self.origin.elapsed();
        self.history.push(format!("{:>10.3} {what}", at.as_secs_f64() * 1e3));
    }
}
