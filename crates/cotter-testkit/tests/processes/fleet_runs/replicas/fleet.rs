//! The replicas that are alive, and what is done to them.

use cotter::Client;
use cotter_scheduler::{Entry, Jobs, OneShot};
use cotter_testkit::Deck;
use cotter_testkit::replica::{GROUP, JOBS, ORDERS, Orders, Store, TICK, WorkLog};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What is done.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// So many slots of the job with the fixed rate have to be done with.
    pub(crate) slots: u64,
    /// So many kills, so many stops, and a restart of the store where it can be restarted have to have happened: the run goes on
    /// until then. Twice as many faults are planned for the time that the slots take.
    pub(crate) each: u64,
    /// How far the clock of each replica is ahead; a restarted one keeps it.
    pub(crate) ahead_ms: [i64; 5],
    pub(crate) period_ms: u64,
    pub(crate) seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self { slots: 100, each: 10, ahead_ms: [0; 5], period_ms: 100, seed: rand::random() }
    }
}

/// What was done, and what the store said meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) seed: u64,
    pub(crate) kills: u64,
    pub(crate) stops: u64,
    /// Processes that were stopped for a while: what they do next may be too late.
    pub(crate) stopped: BTreeSet<u32>,
    /// How often the store was killed and started again.
    pub(crate) restarts: u64,
    pub(crate) period_ms: u64,
    pub(crate) slots: u64,
    /// Processes with a clock that is so far off that they must not start anything.
    pub(crate) barred: Vec<u32>,
    /// By job, the token of a run that has never ended, and that nobody has looked at since.
    pub(crate) open: BTreeMap<String, u64>,
    /// The history, gathered before it was cut; by job, token and slot.
    pub(crate) history: BTreeMap<(String, u64, String), Entry>,
    /// The one-shot runs that were added.
    pub(crate) added: BTreeSet<String>,
    /// Those that still wait in the end.
    pub(crate) pending: BTreeSet<String>,
}

impl Done {
    /// What a run that is over has, and this one has not. A store that can be restarted has to be.
    pub(crate) fn lacks(&self, plan: &Plan, can_restart: bool) -> Option<&'static str> {
        let few = |count: u64| count < plan.each;
        match self {
            _ if few(self.kills) => Some("too few kills"),
            _ if few(self.stops) => Some("too few stops"),
            _ if can_restart && self.restarts == 0 => Some("no restart of the store"),
            _ => None,
        }
    }

    pub(crate) fn history_of(&self, job: &str) -> impl Iterator<Item = (&(String, u64, String), &Entry)> {
        self.history.iter().filter(move |((of, ..), _)| of == job)
    }
}

const LOOK_PERIOD: Duration = Duration::from_millis(500);

/// A fault, and how often it is drawn of twenty times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Restart,
    Kill,
    Stop,
}

const FAULTS: [(Fault, usize); 3] = [(Fault::Restart, 2), (Fault::Kill, 9), (Fault::Stop, 9)];

pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// A replica, and the number of its place.
struct Member {
    place: usize,
    process: u32,
    child: Child,
    stopped_until: Option<Instant>,
}

/// What a failed run leaves running would disturb the next one.
impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Member {
    fn is_stopped(&self) -> bool {
        self.stopped_until.is_some_and(|until| Instant::now() < until)
    }
}

/// Not left to whoever has stopped it: he may wait for something that it has locked.
fn go_on_after(pause: Duration, process: Pid) {
    std::thread::spawn(move || {
        std::thread::sleep(pause);
        // It may have been killed since.
        let _ = kill_process(process, Signal::CONT);
    });
}

/// Kills the store and starts it again, where it is a process of its own.
pub(crate) type Restart<'a> = Option<Box<dyn FnMut() + 'a>>;

struct Fleet<'a> {
    plan: &'a Plan,
    store: &'a Store,
    restart: Restart<'a>,
    work_log: &'a Path,
    members: Vec<Member>,
    started: u32,
    faults: Deck<Fault>,
    /// What was drawn, and cannot be done yet.
    next: Option<Fault>,
    /// Whether a fault of a replica hits the one that has run last.
    of_busy: Deck<bool>,
    done: Done,
}

impl Plan {
    pub(crate) fn run<'a>(&'a self, store: &'a Store, work_log: &'a Path, restart: Restart<'a>) -> Done {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let done = Done { seed: self.seed, period_ms: self.period_ms, slots: self.slots, ..Done::default() };
        let faults = FAULTS.into_iter().filter(|(fault, _)| *fault != Fault::Restart || restart.is_some());
        let faults = Deck::of(&faults.collect::<Vec<_>>());
        let (members, of_busy) = (Vec::new(), Deck::with_share(0.5));
        let mut fleet = Fleet {
            plan: self,
            store,
            restart,
            work_log,
            members,
            started: 0,
            faults,
            next: None,
            of_busy,
            done,
        };
        (0..self.ahead_ms.len()).for_each(|place| fleet.start(place));
        runtime.block_on(fleet.play());
        fleet.end();
        runtime.block_on(fleet.look());
        fleet.done
    }
}

impl Fleet<'_> {
    fn start(&mut self, place: usize) {
        self.started += 1;
        let orders = Orders {
            process: self.started,
            store: self.store.clone(),
            work_log: self.work_log.to_owned(),
            ahead_ms: self.plan.ahead_ms[place],
            ttl_ms: 1500,
            period_ms: self.plan.period_ms,
            work_ms: self.plan.period_ms / 4,
        };
        if orders.ahead_ms.abs() > 5000 {
            self.done.barred.push(self.started);
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotter-replica"));
        command.arg(serde_json::to_string(&orders).unwrap()).stdin(Stdio::piped());
        let child = command.spawn().expect("the replica starts");
        self.members.push(Member { place, process: self.started, child, stopped_until: None });
    }

    /// Until enough slots are done with, and enough has been done to them.
    async fn play(&mut self) {
        let mut rng = StdRng::seed_from_u64(self.plan.seed);
        let patience =
            Duration::from_millis(self.plan.slots * self.plan.period_ms * 10) + Duration::from_secs(60);
        let (end, mut next_look) = (Instant::now() + patience, Instant::now());
        let step = Duration::from_millis(self.plan.slots * self.plan.period_ms / (4 * self.plan.each));
        let mut next_fault = Instant::now() + step * 3;
        while self.slots() < self.plan.slots || self.done.lacks(self.plan, self.restart.is_some()).is_some() {
            if end <= Instant::now() {
                // What is lacking is told by whoever looks at what was done.
                let (slots, seed) = (self.slots(), self.plan.seed);
                assert!(slots >= self.plan.slots, "{slots} slots in {patience:?}, seed {seed}");
                return;
            }
            if next_fault <= Instant::now() && self.fault(&mut rng) {
                next_fault += step.mul_f64(rng.random_range(0.5..1.5));
            }
            if next_look <= Instant::now() {
                self.look().await;
                self.add_one_shots(&mut rng).await;
                next_look = Instant::now() + LOOK_PERIOD;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// How many slots of the job with the fixed rate the history knows of.
    fn slots(&self) -> u64 {
        self.done.history_of(TICK).count() as u64
    }

    /// The next of the deck. False: it has to wait, because all that could be stopped are.
    fn fault(&mut self, rng: &mut StdRng) -> bool {
        let fault = self.next.take().unwrap_or_else(|| self.faults.draw(rng));
        let runs = |at: &usize| fault != Fault::Stop || !self.members[*at].is_stopped();
        let victims: Vec<usize> = (0..self.members.len()).filter(runs).collect();
        match fault {
            Fault::Restart => self.restart_store(),
            _ if victims.is_empty() => {
                self.next = Some(fault);
                return false;
            }
            Fault::Kill => {
                let at = self.victim(&victims, rng);
                self.kill(at);
            }
            Fault::Stop => {
                let at = self.victim(&victims, rng);
                self.stop(at, Duration::from_millis(rng.random_range(50..3000)));
            }
        }
        true
    }

    fn restart_store(&mut self) {
        let restart = self.restart.as_mut().expect("the deck has it only then");
        restart();
        self.done.restarts += 1;
    }

    /// Half of all faults of replicas hit the one that has run last.
    fn victim(&mut self, among: &[usize], rng: &mut StdRng) -> usize {
        let any = among[rng.random_range(0..among.len())];
        if !self.of_busy.draw(rng) {
            return any;
        }
        let last = WorkLog::read(self.work_log).ok().and_then(|lines| lines.last().map(|line| line.process));
        let busy = among.iter().copied().find(|at| Some(self.members[*at].process) == last);
        busy.unwrap_or(any)
    }

    fn kill(&mut self, at: usize) {
        let mut member = self.members.swap_remove(at);
        member.child.kill().unwrap();
        member.child.wait().unwrap();
        self.done.kills += 1;
        self.start(member.place);
    }

    fn stop(&mut self, at: usize, pause: Duration) {
        let member = &mut self.members[at];
        kill_process(Pid::from_child(&member.child), Signal::STOP).unwrap();
        member.stopped_until = Some(Instant::now() + pause);
        go_on_after(pause, Pid::from_child(&member.child));
        self.done.stopped.insert(member.process);
        self.done.stops += 1;
    }

    /// Has all end in order; those that are stopped, as soon as they go on.
    fn end(&mut self) {
        for member in &mut self.members {
            drop(member.child.stdin.take());
        }
        let last = Instant::now() + Duration::from_secs(30);
        for member in &mut self.members {
            while member.child.try_wait().unwrap().is_none() {
                assert!(
                    Instant::now() < last,
                    "replica {} does not end, seed {}",
                    member.process,
                    self.plan.seed
                );
                std::thread::sleep(Duration::from_millis(5));
            }
            let (process, seed) = (member.process, self.plan.seed);
            assert!(member.child.wait().unwrap().success(), "replica {process} has failed, seed {seed}");
        }
    }

    /// Gathers the history, which keeps only the last runs.
    async fn look(&mut self) {
        let Ok(client) = self.client().await else { return };
        let jobs = Jobs::new(&client, GROUP);
        for job in JOBS {
            let history = jobs.history(job).await.unwrap_or_default();
            let keyed = |entry: Entry| ((job.to_owned(), entry.token, entry.slot.to_string()), entry);
            self.done.history.extend(history.into_iter().map(keyed));
        }
        let open = jobs.list().await.unwrap_or_default().into_iter().filter(|s| s.ended.is_none());
        self.done.open = open.filter_map(|s| Some((s.name, s.token?))).collect();
        let pending = jobs.pending().await.unwrap_or_default();
        self.done.pending = pending.into_iter().map(|one_shot| one_shot.id).collect();
        let _ = client.close(Duration::ZERO).await;
    }

    /// An addition that fails is not counted, though it may have been made.
    async fn add_one_shots(&mut self, rng: &mut StdRng) {
        let Ok(client) = self.client().await else { return };
        let jobs = Jobs::new(&client, GROUP);
        for _ in 0..2 {
            let id = format!("order {}", self.done.added.len());
            let delay = Duration::from_millis(rng.random_range(0..2000));
            if jobs.add(ORDERS, OneShot::after(delay).id(&id)).await.is_ok() {
                self.done.added.insert(id);
            }
        }
        let _ = client.close(Duration::ZERO).await;
    }

    async fn client(&self) -> cotter::Result<Client> {
        let builder = Client::builder();
        match self.store {
            Store::Directory(path) => builder.connect_to(cotter::file::Store::at(path)).await,
            Store::Server(url) => builder.connect(url).await,
        }
    }
}
