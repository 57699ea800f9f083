//! A TCP proxy that delays, loses, cuts and goes silent.

use super::fault_rates::{Fault, FaultRates, Sampler};
use super::kept::{Keep, Kept};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Stands between clients and a server on this host.
#[derive(Debug)]
pub struct Proxy {
    rules: Arc<Rules>,
    address: SocketAddr,
}

/// The fate of a connection whose reply was lost: TCP loses nothing in the middle, so it ends in one way or another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// It is reset.
    Cut,
    /// It stays open and carries nothing any more.
    Silence,
    /// The same, and nobody hears of the end of the other side, as where packets are dropped.
    Vanish,
}

#[derive(Debug)]
struct Rules {
    /// The port of the server for new connections.
    target: AtomicU16,
    state: Mutex<State>,
    /// Both directions of all connections carry nothing; what arrives is kept from going on.
    frozen: AtomicBool,
    refusing: AtomicBool,
    /// Servers do not learn that their clients have hung up.
    deserted: AtomicBool,
    stopped: AtomicBool,
    messages_dropped: AtomicU64,
    round_trips: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<u64, (TcpStream, TcpStream)>,
    request_delay: Duration,
    reply_delay: Duration,
    sampler: Option<Sampler>,
    /// The next reply that contains the bytes is lost.
    lose: Option<(Vec<u8>, Loss)>,
    /// The next packet that contains the bytes is kept back, and all behind it on its connection.
    keep_request: Option<Keep>,
    keep_reply: Option<Keep>,
    /// All packets from the server that contain this are dropped; only for messages, which nothing is in step with.
    drop_messages: Option<Vec<u8>>,
}

impl Proxy {
    /// Listens on a free port.
    ///
    /// # Panics
    /// When there is none.
    pub fn start(target_port: u16) -> Self {
        Self::start_at("127.0.0.1:0", target_port)
    }

    /// Listens on this address.
    ///
    /// # Panics
    /// When that is not possible.
    pub fn start_at(address: &str, target_port: u16) -> Self {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let rules = Arc::new(Rules {
            target: AtomicU16::new(target_port),
            state: Mutex::default(),
            frozen: AtomicBool::new(false),
            refusing: AtomicBool::new(false),
            deserted: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            messages_dropped: AtomicU64::new(0),
            round_trips: AtomicU64::new(0),
        });
        let accepting = rules.clone();
        thread::spawn(move || accept(&accepting, &listener));
        Self { rules, address }
    }

    /// The port that clients connect to.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// A Redis URL through this proxy, for the user of its mode as [`Redis::url`](super::Redis::url).
    pub fn redis_url(&self, options: &str) -> String {
        super::redis::redis_url(self.port(), options)
    }

    /// A URL of the user `app` of a PostgreSQL server through this proxy.
    pub fn postgres_url(&self, options: &str) -> String {
        format!("postgres://app:secret@127.0.0.1:{}/cotter?{options}", self.port())
    }

    /// The same for a MariaDB server.
    pub fn mysql_url(&self, options: &str) -> String {
        format!("mysql://app:secret@127.0.0.1:{}/cotter?{options}", self.port())
    }

    /// Injects faults at random from now on. The seed counts when there was none before.
    pub fn set_fault_rates(&self, rates: FaultRates, seed: u64) {
        let mut state = self.rules.state();
        match &mut state.sampler {
            Some(sampler) => sampler.change(rates),
            none => *none = Some(Sampler::new(rates, seed)),
        }
    }

    /// How many faults were drawn at random, and how many were injected.
    pub fn sampled_faults(&self) -> (u64, u64) {
        self.rules.state().sampler.as_ref().map_or((0, 0), |sampler| (sampler.planned, sampler.confirmed))
    }

    /// Every packet towards the server waits so long.
    pub fn delay_requests(&self, by: Duration) {
        self.rules.state().request_delay = by;
    }

    /// Every packet from the server waits so long.
    pub fn delay_replies(&self, by: Duration) {
        self.rules.state().reply_delay = by;
    }

    /// The next packet towards the server that contains these bytes stays here, and all behind it on its connection, until
    /// it is let go: also when the client has given the connection up meanwhile.
    pub fn keep_request(&self, containing: &[u8]) -> Kept {
        Kept::of(&mut self.rules.state().keep_request, containing)
    }

    /// The same for a packet from the server.
    pub fn keep_reply(&self, containing: &[u8]) -> Kept {
        Kept::of(&mut self.rules.state().keep_reply, containing)
    }

    /// The next packet from the server that contains these bytes is lost, and its connection with it.
    pub fn lose_reply(&self, containing: &[u8], how: Loss) {
        self.rules.state().lose = Some((containing.to_vec(), how));
    }

    /// Whether the loss that was ordered has happened.
    pub fn has_lost(&self) -> bool {
        self.rules.state().lose.is_none()
    }

    /// Packets from the server that contain these bytes are dropped from now on; `None` ends it.
    pub fn drop_messages(&self, containing: Option<&[u8]>) {
        self.rules.state().drop_messages = containing.map(<[u8]>::to_vec);
    }

    /// How many packets were dropped so.
    pub fn messages_dropped(&self) -> u64 {
        self.rules.messages_dropped.load(Ordering::SeqCst)
    }

    /// How often a connection began to ask: all that it sends before the next reply counts as one question.
    pub fn round_trips(&self) -> u64 {
        self.rules.round_trips.load(Ordering::SeqCst)
    }

    /// How many connections there are: those whose client has hung up count until the server has been told.
    pub fn connections(&self) -> usize {
        self.rules.state().open.len()
    }

    /// Resets all connections; new ones work.
    pub fn cut(&self) {
        self.rules.state().open.drain().for_each(|(_, (a, b))| close(&a, &b));
    }

    /// Half-opens: all connections stay and carry nothing, until it is undone.
    pub fn freeze(&self, yes: bool) {
        self.rules.frozen.store(yes, Ordering::SeqCst);
    }

    /// Resets all connections towards their clients, and refuses new ones. Those to the server stay and carry nothing, so that
    /// it does not learn that it is alone.
    pub fn desert(&self) {
        self.rules.deserted.store(true, Ordering::SeqCst);
        self.refuse(true);
        self.rules.state().open.values().for_each(|(client, _)| _ = client.shutdown(Shutdown::Both));
    }

    /// New connections lead to another server; those that are open stay.
    pub fn turn_to(&self, target_port: u16) {
        self.rules.target.store(target_port, Ordering::SeqCst);
    }

    /// New connections are closed at once.
    pub fn refuse(&self, yes: bool) {
        self.rules.refusing.store(yes, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.rules.stopped.store(true, Ordering::SeqCst);
        self.cut();
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
    }
}

impl Rules {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

fn close(a: &TcpStream, b: &TcpStream) {
    let _ = a.shutdown(Shutdown::Both);
    let _ = b.shutdown(Shutdown::Both);
}

fn accept(rules: &Arc<Rules>, listener: &TcpListener) {
    for (number, client) in (0..).zip(listener.incoming()) {
        if rules.stopped() {
            return;
        }
        let Ok(client) = client else { continue };
        if rules.refusing.load(Ordering::SeqCst) {
            continue;
        }
        let Ok(server) = TcpStream::connect(("127.0.0.1", rules.target.load(Ordering::SeqCst))) else {
            continue;
        };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        if let Some(copy) = client.try_clone().ok().zip(server.try_clone().ok()) {
            rules.state().open.insert(number, copy);
        }
        let (Ok(from_client), Ok(from_server)) = (client.try_clone(), server.try_clone()) else { continue };
        let (up, down) = (rules.clone(), rules.clone());
        let asking = Arc::new(AtomicBool::new(false));
        let answered = asking.clone();
        thread::spawn(move || {
            pump(&up, from_client, server, |packet| {
                if !asking.swap(true, Ordering::SeqCst) {
                    up.round_trips.fetch_add(1, Ordering::SeqCst);
                }
                requests(&up, packet)
            });
            up.state().open.remove(&number);
        });
        thread::spawn(move || {
            pump(&down, from_server, client, |packet| {
                let fate = replies(&down, packet);
                answered.store(false, Ordering::SeqCst);
                fate
            });
        });
    }
}

/// The fate of a packet.
enum Fate {
    Pass,
    Drop,
    End(Loss),
}

fn requests(rules: &Rules, packet: &[u8]) -> Fate {
    let (delay, keep, fault) = {
        let mut state = rules.state();
        let keep = state.keep_request.take_if(|k| contains(packet, &k.containing));
        let fault = state.sampler.as_mut().map_or(Fault::None, |sampler| sampler.on_request(packet));
        (state.request_delay, keep, fault)
    };
    thread::sleep(delay);
    hold_while_frozen(rules);
    keep_back(rules, keep);
    apply(rules, fault)
}

fn replies(rules: &Rules, packet: &[u8]) -> Fate {
    let (delay, keep) = {
        let mut state = rules.state();
        (state.reply_delay, state.keep_reply.take_if(|k| contains(packet, &k.containing)))
    };
    thread::sleep(delay);
    hold_while_frozen(rules);
    keep_back(rules, keep);
    let mut state = rules.state();
    if state.drop_messages.as_ref().is_some_and(|m| contains(packet, m)) {
        rules.messages_dropped.fetch_add(1, Ordering::SeqCst);
        return Fate::Drop;
    }
    if let Some((_, how)) = state.lose.take_if(|(bytes, _)| contains(packet, bytes)) {
        return Fate::End(how);
    }
    let fault = state.sampler.as_mut().map_or(Fault::None, |sampler| sampler.on_reply(packet));
    drop(state);
    apply(rules, fault)
}

/// Injects a fault, and counts it.
fn apply(rules: &Rules, fault: Fault) -> Fate {
    let fate = match fault {
        Fault::None => return Fate::Pass,
        Fault::Drop => Fate::Drop,
        Fault::End(how) => Fate::End(how),
        Fault::Late(by) => {
            thread::sleep(by);
            Fate::Pass
        }
    };
    rules.state().sampler.iter_mut().for_each(|sampler| sampler.confirmed += 1);
    fate
}

fn keep_back(rules: &Rules, keep: Option<Keep>) {
    if let Some(keep) = keep {
        keep.until_let_go(|| rules.stopped());
    }
}

fn hold_while_frozen(rules: &Rules) {
    while rules.frozen.load(Ordering::SeqCst) && !rules.stopped() {
        thread::sleep(Duration::from_millis(5));
    }
}

pub(super) fn contains(packet: &[u8], bytes: &[u8]) -> bool {
    bytes.is_empty() || packet.windows(bytes.len()).any(|w| w == bytes)
}

fn pump(rules: &Rules, mut from: TcpStream, mut to: TcpStream, mut judge: impl FnMut(&[u8]) -> Fate) {
    let is_deserted = || rules.deserted.load(Ordering::SeqCst);
    let mut buffer = [0; 64 * 1024];
    let (mut silent, mut vanished) = (false, false);
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if silent {
            continue;
        }
        match judge(&buffer[..n]) {
            Fate::Pass if to.write_all(&buffer[..n]).is_err() => match is_deserted() {
                true => silent = true,
                false => break,
            },
            Fate::End(Loss::Cut) => break,
            Fate::End(Loss::Silence) => silent = true,
            Fate::End(Loss::Vanish) => (silent, vanished) = (true, true),
            Fate::Pass | Fate::Drop => {}
        }
    }
    if !is_deserted() && !vanished {
        close(&from, &to);
    }
}
