//! Answers to requests.

use crate::client::{Client, Said};
use crate::random::{LEASES, delete, put, range, txn};
use cotter_testkit::etcd_in_memory::messages::{
    CompactRequest, CompactResponse, DeleteRequest, DeleteResponse, Header, LeaseGrantRequest,
    LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseRevokeRequest,
    LeaseRevokeResponse, LeaseTimeToLiveRequest, LeaseTimeToLiveResponse, PutRequest, PutResponse,
    RangeResponse, TxnResponse,
};
use cotter_testkit::etcd_in_memory::{Answer, Server};
use cotter_testkit::servers::Etcd;
use cotter_testkit::sized;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use std::fmt::Debug;

/// Two servers that have the same.
pub(crate) struct Pair {
    pub(crate) ours: Client,
    pub(crate) theirs: Client,
    /// The revision of both.
    pub(crate) now: i64,
    pub(crate) asked: Vec<String>,
    refused: usize,
}

impl Pair {
    /// The real one is emptied, and the other one begins at its revision.
    pub(crate) async fn of(theirs: Client) -> Self {
        for id in LEASES {
            let revoked: Said<LeaseRevokeResponse> =
                theirs.ask("/etcdserverpb.Lease/LeaseRevoke", LeaseRevokeRequest { id }).await;
            drop(revoked);
        }
        let one = PutRequest { key: b"a".to_vec(), ..PutRequest::default() };
        theirs.ask::<_, PutResponse>("/etcdserverpb.KV/Put", one).await.unwrap();
        let all = DeleteRequest { key: vec![0], range_end: vec![0], prev_kv: false };
        let emptied: DeleteResponse = theirs.ask("/etcdserverpb.KV/DeleteRange", all).await.unwrap();
        let now = emptied.header.unwrap().revision;
        let ours = Client::in_memory(&Server::at(now, None)).await;
        let mut pair = Self { ours, theirs, now, asked: Vec::new(), refused: 0 };
        pair.compact(now).await;
        pair
    }

    pub(crate) async fn compact(&mut self, revision: i64) {
        let request = CompactRequest { revision, physical: false };
        self.both::<_, CompactResponse>("/etcdserverpb.KV/Compact", request).await;
    }

    /// Asks both the same, and compares what they say.
    pub(crate) async fn both<Q, A>(&mut self, path: &'static str, question: Q)
    where
        Q: prost::Message + Clone + Debug + 'static,
        A: Answer + PartialEq + Debug,
    {
        self.asked.push(format!("{path} {question:?}"));
        let (ours, theirs) =
            (self.ours.ask(path, question.clone()).await, self.theirs.ask(path, question).await);
        let plain = |said: Said<A>| {
            said.map(|mut answer| {
                if let Some(header) = answer.header() {
                    *header = Header { revision: header.revision, ..Header::default() };
                }
                answer
            })
        };
        let (ours, theirs) = (plain(ours), plain(theirs));
        assert!(
            ours == theirs,
            "{ours:?} here, and there {theirs:?}, at the last of:\n{}",
            self.asked.join("\n")
        );
        match theirs {
            Ok(mut answer) => self.now = answer.header().as_ref().map_or(self.now, |header| header.revision),
            Err(_) => self.refused += 1,
        }
    }

    /// One random request.
    pub(crate) async fn step(&mut self, rng: &mut StdRng) {
        let id = *LEASES.choose(rng).expect("some");
        match rng.random_range(0..20) {
            0..3 => {
                let question = range(rng, self.now);
                self.both::<_, RangeResponse>("/etcdserverpb.KV/Range", question).await;
            }
            3..6 => self.both::<_, PutResponse>("/etcdserverpb.KV/Put", put(rng)).await,
            6 => {
                let question = delete(rng);
                self.both::<_, DeleteResponse>("/etcdserverpb.KV/DeleteRange", question).await;
            }
            7..14 => {
                let question = txn(rng, self.now, 2);
                self.both::<_, TxnResponse>("/etcdserverpb.KV/Txn", question).await;
            }
            14..16 => {
                let ttl = [0, -3, 1, 100, 3_000, 10_000_000_000][rng.random_range(0..6)];
                let question = LeaseGrantRequest { ttl, id };
                self.both::<_, LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant", question).await;
            }
            16 => {
                let (question, path) = (LeaseRevokeRequest { id }, "/etcdserverpb.Lease/LeaseRevoke");
                self.both::<_, LeaseRevokeResponse>(path, question).await;
            }
            17 => self.time_to_live(id, rng.random_bool(0.5)).await,
            18 => self.keep_alive(id).await,
            _ => self.compact(self.now - rng.random_range(-1..6)).await,
        }
    }

    /// A second may end between the two answers.
    async fn time_to_live(&mut self, id: i64, keys: bool) {
        let (path, question) = ("/etcdserverpb.Lease/LeaseTimeToLive", LeaseTimeToLiveRequest { id, keys });
        self.asked.push(format!("{path} {question:?}"));
        let ours: LeaseTimeToLiveResponse = self.ours.ask(path, question.clone()).await.unwrap();
        let mut theirs: LeaseTimeToLiveResponse = self.theirs.ask(path, question).await.unwrap();
        // In any order.
        theirs.keys.sort();
        let same = (ours.granted_ttl, &ours.keys, ours.id) == (theirs.granted_ttl, &theirs.keys, theirs.id);
        assert!(
            same && (ours.ttl - theirs.ttl).abs() <= 1 && (ours.ttl < 0) == (theirs.ttl < 0),
            "{ours:?} here, and there {theirs:?}, at the last of:\n{}",
            self.asked.join("\n")
        );
    }

    async fn keep_alive(&mut self, id: i64) {
        let (path, question) = ("/etcdserverpb.Lease/LeaseKeepAlive", LeaseKeepAliveRequest { id });
        self.asked.push(format!("{path} {question:?}"));
        let (_open, mut ours) = self.ours.stream(path, question.clone()).await;
        let (_open, mut theirs) = self.theirs.stream(path, question).await;
        let ours: LeaseKeepAliveResponse = ours.message().await.unwrap().expect("an answer");
        let theirs: LeaseKeepAliveResponse = theirs.message().await.unwrap().expect("an answer");
        let plain =
            |a: &LeaseKeepAliveResponse| (a.id, a.ttl, a.header.as_ref().map(|header| header.revision));
        assert!(
            plain(&ours) == plain(&theirs),
            "{ours:?} here, and there {theirs:?}, at the last of:\n{}",
            self.asked.join("\n")
        );
    }
}

#[tokio::test]
#[ignore = "needs etcd"]
async fn random_requests_are_answered_alike() {
    let server = Etcd::start(1);
    let (mut refused, mut done) = (0, 0);
    for seed in 0..sized(60, 4_000) as u64 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut pair = Pair::of(Client::real(server.port(0)).await).await;
        for _ in 0..100 {
            pair.step(&mut rng).await;
        }
        (refused, done) = (refused + pair.refused, done + pair.asked.len());
    }
    assert!(refused > done / 50 && refused < done / 2, "{refused} of {done} requests were refused");
}
