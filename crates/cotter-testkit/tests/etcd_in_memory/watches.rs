//! What watches are told.

use crate::client::Client;
use crate::random::{end, key};
use crate::requests::Pair;
use cotter_testkit::etcd_in_memory::messages::{
    WatchCancel, WatchCreate, WatchOrder, WatchProgress, WatchRequest, WatchResponse,
};
use cotter_testkit::servers::Etcd;
use cotter_testkit::sized;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{sleep, timeout};
use tonic::Streaming;

/// A watch of the past is told of it within 100 ms; another one at once.
const CAUGHT_UP: Duration = Duration::from_millis(250);
const TOLD: Duration = Duration::from_millis(20);

/// A stream, and what was told about each of its watches: in which answers does not matter.
struct Told {
    orders: UnboundedSender<WatchRequest>,
    answers: Streaming<WatchResponse>,
    told: BTreeMap<i64, Vec<String>>,
}

impl Told {
    async fn open(client: &Client) -> Self {
        let first = WatchRequest { order: Some(WatchOrder::Progress(WatchProgress {})) };
        let (orders, answers) = client.stream("/etcdserverpb.Watch/Watch", first).await;
        Self { orders, answers, told: BTreeMap::new() }
    }

    /// Reads until nothing comes for a moment.
    async fn read(&mut self, pause: Duration) {
        while let Ok(answer) = timeout(pause, self.answers.message()).await {
            let answer = answer.expect("the stream goes on").expect("it is open");
            let told = self.told.entry(answer.watch_id).or_default();
            if answer.created || answer.canceled {
                let revision = answer.header.map(|header| header.revision);
                let WatchResponse { created, canceled, compact_revision, cancel_reason, .. } = answer;
                told.push(format!("{created} {canceled} {compact_revision} {cancel_reason:?} {revision:?}"));
            }
            told.extend(answer.events.iter().map(|event| format!("{event:?}")));
        }
    }
}

fn order(rng: &mut StdRng, now: i64) -> (WatchRequest, bool) {
    let watch_id = rng.random_range(0..5);
    if rng.random_bool(0.25) {
        return (WatchRequest { order: Some(WatchOrder::Cancel(WatchCancel { watch_id })) }, false);
    }
    let is_past = rng.random_bool(0.25);
    let start_revision = match rng.random_range(0..3) {
        _ if is_past => (now - rng.random_range(0..8)).max(1),
        0 => now + rng.random_range(1..4),
        _ => 0,
    };
    let filters = if rng.random_bool(0.6) { Vec::new() } else { vec![rng.random_range(0..2)] };
    let (key, range_end, prev_kv) = (key(rng), end(rng), rng.random_bool(0.3));
    let create = WatchCreate { key, range_end, start_revision, filters, prev_kv, watch_id };
    (WatchRequest { order: Some(WatchOrder::Create(create)) }, is_past)
}

#[tokio::test]
#[ignore = "needs etcd"]
async fn watches_are_told_alike() {
    let server = Etcd::start(1);
    let mut events = 0;
    for seed in 0..sized(8, 600) as u64 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut pair = Pair::of(Client::real(server.port(0)).await).await;
        let (mut ours, mut theirs) = (Told::open(&pair.ours).await, Told::open(&pair.theirs).await);
        for _ in 0..60 {
            if rng.random_bool(0.8) {
                pair.step(&mut rng).await;
                continue;
            }
            let (order, is_past) = order(&mut rng, pair.now);
            pair.asked.push(format!("{order:?}"));
            sleep(TOLD).await;
            ours.orders.send(order.clone()).unwrap();
            theirs.orders.send(order).unwrap();
            sleep(if is_past { CAUGHT_UP } else { TOLD }).await;
        }
        ours.read(CAUGHT_UP).await;
        theirs.read(TOLD).await;
        for (id, theirs) in &theirs.told {
            let ours = ours.told.get(id).map(Vec::as_slice).unwrap_or_default();
            assert!(
                ours == theirs,
                "seed {seed}, watch {id}:\n{}\nhere, and there\n{}\nafter\n{}",
                ours.join("\n"),
                theirs.join("\n"),
                pair.asked.join("\n")
            );
            events += theirs.len();
        }
        assert_eq!(ours.told.len(), theirs.told.len(), "seed {seed}");
    }
    assert!(events > 60, "only {events} events");
}
