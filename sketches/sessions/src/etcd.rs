//! etcd: one lease per process and class of ttl, an entry per claim.

use async_trait::async_trait;
use cotter::backend::flight::Flights;
use cotter::backend::inflight::InFlight;
use cotter::backend::poll::{self, Attempt};
use cotter::backend::{
    Backend, Capabilities, Claim, ClaimId, Connect, Extension, Grant, Host, Info, Leave, Release, Session,
    Until,
};
use cotter::clock::Moment;
use cotter::{Error, ErrorKind, LossCause, Name, Result};
use etcd_client::{
    Client, Compare, CompareOp, EventType, GetOptions, PutOptions, SortOrder, SortTarget, Txn, TxnOp,
    TxnOpResponse, WatchOptions,
};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

const TURNS: u64 = 64;
/// etcd refuses transactions of more than 128 operations.
const READS: usize = 100;
/// A server gives up its proposals after 5 s and twice the election timeout.
const LATEST: Duration = Duration::from_secs(7);

#[derive(Debug)]
pub struct Etcd {
    pub endpoint: String,
}

#[async_trait]
impl Connect for Etcd {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let client = Client::connect([&self.endpoint], None).await.map_err(failed)?;
        let mut info = Info::new("etcd", self.endpoint.clone());
        let mut can = Capabilities::default();
        (can.leases, can.ordered, can.names, can.distinct) = (true, true, true, true);
        (can.min_ttl, can.ttl_step) = (Duration::from_secs(2), Duration::from_secs(1));
        info.capabilities = can;
        let inner = Inner {
            client,
            host: host.clone(),
            classes: Default::default(),
            calls: Flights::default(),
            strays: InFlight::default(),
            requests: AtomicU64::new(1),
            seats: Default::default(),
        };
        Ok(Arc::new(Backing { inner: Arc::new(inner), info }))
    }
}

#[derive(Debug)]
struct Backing {
    inner: Arc<Inner>,
    info: Info,
}

struct Inner {
    client: Client,
    host: Host,
    classes: tokio::sync::Mutex<HashMap<u64, Class>>,
    calls: Flights<Looked>,
    /// Calls that broke: a proposal may land later. Streams are not ordered, so each is a connection of its own.
    strays: InFlight,
    requests: AtomicU64,
    seats: Mutex<HashMap<ClaimId, Seat>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Inner")
    }
}

/// A lease that all claims of this ttl share, and its last proof.
#[derive(Clone, Copy)]
struct Class {
    lease: i64,
    as_of: Moment,
    ttl: Duration,
}

/// A granted entry: dropped, its watch ends.
struct Seat {
    session: Session,
    seconds: u64,
    revision: i64,
    _watch: oneshot::Sender<()>,
}

/// The entries of a name, the oldest first, as (key, create revision).
type Looked = Arc<Vec<(Vec<u8>, i64)>>;

fn failed(e: etcd_client::Error) -> Error {
    Error::new(ErrorKind::Unavailable, e.to_string()).with_outcome_unknown().with_backend("etcd")
}

fn folder(name: &Name) -> Vec<u8> {
    let hex: String = name.bytes().map(|b| format!("{b:02x}")).collect();
    format!("cotter/{hex}/").into_bytes()
}

fn key(claim: &Claim) -> Vec<u8> {
    let mut key = folder(&claim.name);
    key.extend_from_slice(claim.id.to_string().as_bytes());
    key
}

fn seconds(ttl: Duration) -> u64 {
    ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0)
}

impl Inner {
    fn now(&self) -> Moment {
        self.host.clock().now()
    }

    /// The lease of this class, proved lately: younger than a sixth of its ttl.
    async fn class(&self, seconds: u64) -> Result<Class> {
        let mut classes = self.classes.lock().await;
        if let Some(class) = classes.get_mut(&seconds) {
            let as_of = self.now();
            if as_of.since(class.as_of) < class.ttl / 6 {
                return Ok(*class);
            }
            match self.client.clone().lease_keep_alive(class.lease).await {
                Ok(_) => {
                    class.as_of = as_of;
                    return Ok(*class);
                }
                Err(etcd_client::Error::LeaseKeepAliveError(_)) => drop(classes.remove(&seconds)),
                Err(e) => return Err(failed(e)),
            }
        }
        let as_of = self.now();
        let granted = self.client.clone().lease_grant(seconds as i64, None).await.map_err(failed)?;
        let class = Class { lease: granted.id(), as_of, ttl: Duration::from_secs(granted.ttl() as u64) };
        classes.insert(seconds, class);
        Ok(class)
    }

    /// Puts the entry unless it is there; `first`: only when nobody is. Answers who is there afterwards.
    async fn enter(self: Arc<Self>, claim: Claim, first: bool) -> Result<Looked> {
        let (folder, key) = (folder(&claim.name), key(&claim));
        let list = || TxnOp::get(folder.clone(), Some(all()));
        for again in [false, true] {
            let class = self.class(seconds(claim.ttl)).await?;
            let free = if first {
                Compare::create_revision(folder.clone(), CompareOp::Equal, 0).with_prefix()
            } else {
                Compare::create_revision(key.clone(), CompareOp::Equal, 0)
            };
            let put = TxnOp::put(key.clone(), &*claim.label, Some(PutOptions::new().with_lease(class.lease)));
            let txn = Txn::new().when([free]).and_then([put, list()]).or_else([list()]);
            let number = self.requests.fetch_add(1, Ordering::Relaxed);
            let request = self.strays.send(claim.id, number, self.now() + LATEST);
            let answer = self.client.clone().txn(txn).await;
            if matches!(&answer, Ok(_))
                || matches!(&answer, Err(etcd_client::Error::GRpcStatus(s)) if s.message().contains("etcdserver"))
            {
                request.answered();
            } else {
                drop(request);
            }
            match answer {
                Ok(done) => return Ok(looked(done.op_responses())),
                Err(etcd_client::Error::GRpcStatus(s))
                    if !again && s.message().contains("lease not found") =>
                {
                    self.classes.lock().await.remove(&seconds(claim.ttl));
                }
                Err(e) => return Err(failed(e)),
            }
        }
        unreachable!("two tries")
    }

    /// The entry is the oldest: it holds.
    async fn granted(self: &Arc<Self>, claim: &Claim, revision: i64) -> Result<Grant> {
        let class = self.class(seconds(claim.ttl)).await?;
        let mut grant = Grant::new(claim.clone(), revision as u64 * TURNS, class.as_of);
        (grant.turns, grant.ttl) = (claim.turns.clamp(1, TURNS as u16), Some(class.ttl));
        let mut seats = self.seats.lock().unwrap();
        let seat = seats.entry(claim.id).or_insert_with(|| {
            let (session, (watch, end)) = (Session::new(), oneshot::channel());
            self.host.spawn(own_entry(self.client.clone(), key(claim), revision, session.clone(), end));
            Seat { session, seconds: seconds(claim.ttl), revision, _watch: watch }
        });
        grant.session = Some(seat.session.clone());
        Ok(grant)
    }
}

fn all() -> GetOptions {
    GetOptions::new().with_prefix().with_keys_only().with_sort(SortTarget::Create, SortOrder::Ascend)
}

fn looked(answers: Vec<TxnOpResponse>) -> Looked {
    let list = |a| match a {
        TxnOpResponse::Get(got) => {
            Some(got.kvs().iter().map(|kv| (kv.key().to_vec(), kv.create_revision())).collect())
        }
        _ => None,
    };
    Arc::new(answers.into_iter().find_map(list).unwrap_or_default())
}

/// Until the entry is deleted by somebody else, or `end`.
async fn own_entry(
    mut client: Client,
    key: Vec<u8>,
    revision: i64,
    session: Session,
    mut end: oneshot::Receiver<()>,
) {
    let watching = async {
        let from = WatchOptions::new().with_start_revision(revision + 1);
        let Ok(mut watch) = client.watch(key, Some(from)).await else { return };
        while let Ok(Some(news)) = watch.message().await {
            if news.events().iter().any(|e| e.event_type() == EventType::Delete) {
                return session.lose(LossCause::Gone);
            }
        }
    };
    tokio::select! { () = watching => {}, _ = &mut end => {} }
}

/// A place in line.
struct Place<'a> {
    inner: &'a Arc<Inner>,
    claim: &'a Claim,
    period: Duration,
    woken: Arc<Notify>,
    /// The predecessor, and what ends its watch.
    ahead: Option<(Vec<u8>, oneshot::Sender<()>)>,
}

impl Place<'_> {
    async fn look(&self) -> Result<Looked> {
        let got =
            self.inner.client.clone().get(folder(&self.claim.name), Some(all())).await.map_err(failed)?;
        Ok(Arc::new(got.kvs().iter().map(|kv| (kv.key().to_vec(), kv.create_revision())).collect()))
    }

    /// From now on; answers once the server watches.
    async fn watch(&mut self, key: Vec<u8>) -> Result<()> {
        let (created, watching) = oneshot::channel();
        let (end, mut ended) = oneshot::channel();
        let (mut client, watched, woken) = (self.inner.client.clone(), key.clone(), self.woken.clone());
        self.inner.host.spawn(async move {
            let watch = async {
                let mut watch = client.watch(watched, None).await.map_err(failed)?;
                let _ = created.send(());
                while let Some(news) = watch.message().await.map_err(failed)? {
                    if news.events().iter().any(|e| e.event_type() == EventType::Delete) {
                        break;
                    }
                }
                Ok::<_, Error>(())
            };
            tokio::select! { _ = watch => woken.notify_one(), _ = &mut ended => {} }
        });
        let _ = watching.await;
        self.ahead = Some((key, end));
        Ok(())
    }
}

impl Attempt for Place<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        self.inner.class(seconds(self.claim.ttl)).await?;
        let key = key(self.claim);
        loop {
            let entries = self.look().await?;
            let Some(at) = entries.iter().position(|(k, _)| *k == key) else {
                // Taken out of the line, or its lease has ended: at its end again.
                self.inner
                    .calls
                    .call(self.claim.id, self.inner.clone().enter(self.claim.clone(), false))
                    .await?;
                continue;
            };
            if at == 0 {
                return self.inner.granted(self.claim, entries[0].1).await.map(Some);
            }
            let ahead = &entries[at - 1].0;
            if self.ahead.as_ref().is_some_and(|(watched, _)| watched == ahead) {
                return Ok(None);
            }
            // Watched from now; then it is looked at once more.
            self.watch(ahead.clone()).await?;
        }
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().notified_owned())
    }

    /// The place dies with its lease.
    fn period(&self) -> Duration {
        self.period
    }
}

#[async_trait]
impl Backend for Backing {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Option<Grant>> {
        let inner = &self.inner;
        if let Err(e) = self.info.supports(claim.mode) {
            return Err(e.with_name(&claim.name));
        }
        let entries =
            inner.calls.call(claim.id, inner.clone().enter(claim.clone(), until == Until::Now)).await?;
        if let Some((first, revision)) = entries.first().filter(|(k, _)| *k == key(claim)) {
            let _ = first;
            return inner.granted(claim, *revision).await.map(Some);
        }
        if entries.is_empty() {
            // Put into an empty folder, and listed in the same transaction: cannot be.
            return Err(Error::new(ErrorKind::Protocol, "an entry was put and is not there"));
        }
        if until == Until::Now {
            return Ok(None);
        }
        let period = Duration::from_secs(seconds(claim.ttl)) / 3;
        let mut place = Place { inner, claim, period, woken: Arc::default(), ahead: None };
        let granted = poll::until(&**inner.host.clock(), until, &mut place).await?;
        if granted.is_none() {
            inner.client.clone().delete(key(claim), None).await.map_err(failed)?;
        }
        Ok(granted)
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let mut answers = Vec::with_capacity(grants.len());
        for some in grants.chunks(READS) {
            match self.extend_some(some, ttl).await {
                Ok(some) => answers.extend(some.into_iter().map(Ok)),
                Err(e) => answers.extend(some.iter().map(|_| Err(e.clone()))),
            }
        }
        answers
    }

    async fn release(&self, claim: &Claim, _leave: Leave) -> Result<Release> {
        // The streams of a connection are not ordered: first the call lands.
        if std::env::var_os("SK_NO_LANDING").is_none() {
            let _ = self.inner.calls.land(claim.id).await;
        }
        self.inner.seats.lock().unwrap().remove(&claim.id);
        let deleted = self.inner.client.clone().delete(key(claim), None).await.map_err(failed)?.deleted();
        if let Some(until) = self.inner.strays.stray_until(claim.id, 0, self.inner.now()) {
            return Ok(Release::Unsettled { until });
        }
        Ok(if deleted > 0 { Release::Freed } else { Release::NotHeld })
    }

    async fn close(&self) {
        self.inner.seats.lock().unwrap().clear();
    }
}

impl Backing {
    async fn extend_some(&self, grants: &[&Grant], ttl: Duration) -> Result<Vec<Extension>> {
        let inner = &self.inner;
        let known: Vec<Option<(u64, i64)>> = {
            let seats = inner.seats.lock().unwrap();
            grants.iter().map(|g| seats.get(&g.claim.id).map(|s| (s.seconds, s.revision))).collect()
        };
        let longer = known.iter().flatten().all(|(s, _)| Duration::from_secs(*s) < ttl);
        let wanted = if longer { Some(inner.class(seconds(ttl)).await?) } else { None };
        let mut classes = HashMap::new();
        for (s, _) in known.iter().flatten() {
            if !classes.contains_key(s) {
                classes.insert(*s, inner.class(*s).await?);
            }
        }
        let each = |(g, known): (&&Grant, &Option<(u64, i64)>)| {
            let key = key(&g.claim);
            let revision = known.map_or(-1, |k| k.1);
            let op = match wanted {
                // The same entry on the longer lease: its place stays.
                Some(class) => {
                    TxnOp::put(key.clone(), &*g.claim.label, Some(PutOptions::new().with_lease(class.lease)))
                }
                None => TxnOp::get(key.clone(), Some(GetOptions::new().with_keys_only())),
            };
            TxnOp::txn(
                Txn::new().when([Compare::create_revision(key, CompareOp::Equal, revision)]).and_then([op]),
            )
        };
        let txn = Txn::new().and_then(grants.iter().zip(&known).map(each).collect::<Vec<_>>());
        let done = inner.client.clone().txn(txn).await.map_err(failed)?.op_responses();
        let mut seats = inner.seats.lock().unwrap();
        let mut answers = Vec::new();
        for ((grant, known), done) in grants.iter().zip(&known).zip(done) {
            let is_there = matches!(&done, TxnOpResponse::Txn(t) if t.succeeded());
            let class = wanted.or_else(|| known.and_then(|(s, _)| classes.get(&s).copied()));
            answers.push(match class.filter(|_| is_there) {
                Some(class) => {
                    if let Some(seat) = seats.get_mut(&grant.claim.id).filter(|_| wanted.is_some()) {
                        seat.seconds = seconds(ttl);
                    }
                    Extension::extended(class.as_of, Some(class.ttl))
                }
                None => {
                    seats.remove(&grant.claim.id);
                    Extension::Lost(LossCause::Gone)
                }
            });
        }
        Ok(answers)
    }
}
