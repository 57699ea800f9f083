//! What a quorum adds to a single server: one task, names that nobody else wants.

use super::Members;
use crate::redis::raw::{Scripts, fresh, wire};
use crate::redis::runtime;
use crate::rounds::{ROUNDS, spread};
use cotter::Client;
use cotter_testkit::servers::Proxy;
use redis::Cmd;
use redis::aio::MultiplexedConnection;
use rustix::time::{ClockId, clock_gettime};
use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const PAIRS: u32 = 500;
/// How far away the servers of some rows are.
const AWAY: Duration = Duration::from_millis(1);
const MEMBERS: usize = 5;

/// Microseconds for a pair.
#[derive(Clone, Copy)]
struct Figures {
    acquire: f64,
    pair: f64,
    client_cpu: f64,
    server_cpu: f64,
}

/// How the locks of one row are acquired.
enum Kind {
    /// The two scripts of the native lock, on so many servers at the same time.
    Raw(Vec<(Scripts, MultiplexedConnection)>),
    /// The same name again and again: the counters of the members agree.
    OneName(Client),
    /// A new name each time: the counters of the members begin apart.
    NewNames(Client),
}

pub(crate) fn run() {
    let (members, runtime) = (Members::start(MEMBERS), runtime());
    let raw = |n: usize| {
        let server = |s| (Scripts::load(s), runtime.block_on(wire(s)));
        Kind::Raw(members.0[..n].iter().map(server).collect())
    };
    let client = |url: String| Client::connect(url).wait().unwrap();
    let (one, five) = (client(members.0[0].open_url("")), client(members.url("")));
    let (plain_one, plain_five) =
        (client(members.0[0].open_url("mode=plain")), client(members.url("mode=plain")));
    let proxies: Vec<_> = members.0.iter().map(|server| Proxy::start(server.port())).collect();
    proxies.iter().for_each(|proxy| proxy.delay_requests(AWAY));
    let far: Vec<_> = proxies.iter().map(|proxy| format!("127.0.0.1:{}", proxy.port())).collect();
    let (far_one, far_five) =
        (client(format!("redis://{}", far[0])), client(format!("redlock://{}?timeout=1s", far.join(","))));
    let mut kinds = [
        ("raw: the two scripts, one server", raw(1)),
        ("raw: the two scripts, five servers", raw(MEMBERS)),
        ("one server", Kind::OneName(one.clone())),
        ("one server, new names", Kind::NewNames(one)),
        ("quorum of five", Kind::OneName(five.clone())),
        ("quorum of five, new names", Kind::NewNames(five)),
        ("one server, mode=plain", Kind::OneName(plain_one)),
        ("quorum of five, mode=plain", Kind::OneName(plain_five)),
        ("one server, a millisecond away", Kind::OneName(far_one)),
        ("quorum of five, a millisecond away", Kind::OneName(far_five.clone())),
        ("the same, new names", Kind::NewNames(far_five)),
    ];
    let mut rounds: Vec<Vec<Figures>> = kinds.iter().map(|_| Vec::new()).collect();
    for round in 0..=ROUNDS {
        for ((_, kind), rounds) in kinds.iter_mut().zip(&mut rounds) {
            let figures = measure(&members, &runtime, kind);
            if round > 0 {
                rounds.push(figures);
            }
        }
    }
    println!("microseconds, medians of {ROUNDS} rounds; in brackets, the least and the most");
    println!("{:<36} {:>24} {:>24} {:>8} {:>8}", "", "acquire", "acquire and release", "client", "servers");
    for ((name, _), rounds) in kinds.iter().zip(&rounds) {
        let row = |figure: fn(&Figures) -> f64| spread(rounds.iter().map(figure).collect());
        let three = |[least, median, most]: [f64; 3]| format!("{median:.0} ({least:.0}, {most:.0})");
        println!(
            "{name:<36} {:>24} {:>24} {:>8.0} {:>8.0}",
            three(row(|f| f.acquire)),
            three(row(|f| f.pair)),
            row(|f| f.client_cpu)[1],
            row(|f| f.server_cpu)[1]
        );
    }
    for (ours, base) in [(1, 0), (4, 2), (5, 3), (7, 6), (9, 8), (10, 8)] {
        let ratio = |figure: fn(&Figures) -> f64| {
            spread(rounds[ours].iter().zip(&rounds[base]).map(|(a, b)| figure(a) / figure(b)).collect())[1]
        };
        let (acquire, pair) = (ratio(|f| f.acquire), ratio(|f| f.pair));
        println!("{} / {}: acquire {acquire:.2}, pair {pair:.2}", kinds[ours].0, kinds[base].0);
    }
}

fn measure(members: &Members, runtime: &Runtime, kind: &mut Kind) -> Figures {
    let (ours, theirs, start) = (cpu(), members.cpu(), Instant::now());
    let acquire = runtime.block_on(kind.pairs());
    let each = |time: Duration| time.as_secs_f64() / f64::from(PAIRS) * 1e6;
    Figures {
        acquire: each(acquire),
        pair: each(start.elapsed()),
        client_cpu: each(cpu() - ours),
        server_cpu: each(members.cpu() - theirs),
    }
}

/// What all threads of this process have used.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

impl Kind {
    /// Returns the time that was spent on acquiring.
    async fn pairs(&mut self) -> Duration {
        match self {
            Self::Raw(servers) => raw(servers).await,
            Self::OneName(client) => by_cotter(client, || "one".into()).await,
            Self::NewNames(client) => by_cotter(client, fresh).await,
        }
    }
}

async fn by_cotter(client: &Client, name: impl Fn() -> String) -> Duration {
    let mut acquiring = Duration::ZERO;
    for _ in 0..PAIRS {
        let (mutex, start) = (client.mutex(name()), Instant::now());
        let guard = mutex.lock().await.unwrap();
        acquiring += start.elapsed();
        let _ = guard.release().await.unwrap();
    }
    acquiring
}

/// As soon as possible on all servers at the same time.
async fn raw(servers: &[(Scripts, MultiplexedConnection)]) -> Duration {
    let mut acquiring = Duration::ZERO;
    for _ in 0..PAIRS {
        let (start, pairs) = (Instant::now(), servers.iter().map(|(scripts, _)| scripts.pair("raw")));
        let (acquire, release): (Vec<_>, Vec<_>) = pairs.map(|[a, r]| (a, r)).unzip();
        everywhere(servers, &acquire).await;
        acquiring += start.elapsed();
        everywhere(servers, &release).await;
    }
    acquiring
}

async fn everywhere(servers: &[(Scripts, MultiplexedConnection)], commands: &[Cmd]) {
    let mut running: Vec<_> = servers
        .iter()
        .zip(commands)
        .map(|((_, wire), command)| {
            let mut wire = wire.clone();
            let answered = async move { command.query_async::<String>(&mut wire).await.unwrap() };
            Some(Box::pin(answered))
        })
        .collect();
    poll_fn(|cx| {
        for call in &mut running {
            if call.as_mut().is_some_and(|c| c.as_mut().poll(cx).is_ready()) {
                *call = None;
            }
        }
        if running.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
