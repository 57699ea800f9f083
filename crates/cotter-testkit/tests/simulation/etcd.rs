//! The etcd client and a server in memory, by seeds. `scripts/test` tries hundreds of others.

#[cfg(tokio_unstable)]
use cotter_testkit::simulation::replay;
use cotter_testkit::simulation::{Store, many};
use cotter_testkit::sized;

const THREADS: usize = 2;

#[test]
fn many_seeds() {
    if let Err(failure) = many(Store::Etcd, 0..sized(12, 20_000) as u64, THREADS) {
        panic!("{failure}");
    }
}

/// HTTP/2 and gRPC go by the time of the run and by nothing else.
#[cfg(tokio_unstable)]
#[test]
fn a_seed_repeats_exactly() {
    for seed in 0..sized(4, 200) as u64 {
        let (one, other) = (replay(Store::Etcd, seed), replay(Store::Etcd, seed));
        assert_eq!(one.history, other.history, "seed {seed}");
    }
}
