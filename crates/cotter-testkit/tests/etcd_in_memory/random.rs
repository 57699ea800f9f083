//! Random requests, right and wrong ones.

use cotter_testkit::etcd_in_memory::messages::{
    Compare, DeleteRequest, Operation, PutRequest, RangeRequest, Request, Target, TxnRequest,
};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

const KEYS: [&str; 5] = ["a", "ab", "b", "c", "d"];
/// Ids of leases that may have been granted.
pub(crate) const LEASES: [i64; 3] = [7, 8, 9];

pub(crate) fn key(rng: &mut StdRng) -> Vec<u8> {
    if rng.random_bool(0.02) { Vec::new() } else { KEYS.choose(rng).expect("some").as_bytes().to_vec() }
}

/// Mostly none, so that one key is meant.
pub(crate) fn end(rng: &mut StdRng) -> Vec<u8> {
    match rng.random_range(0..8) {
        0..5 => Vec::new(),
        5 => vec![0],
        _ => key(rng),
    }
}

fn value(rng: &mut StdRng) -> Vec<u8> {
    ["", "x", "y", "some more"].choose(rng).expect("some").as_bytes().to_vec()
}

fn lease(rng: &mut StdRng) -> i64 {
    if rng.random_bool(0.6) { 0 } else { *LEASES.choose(rng).expect("some") }
}

pub(crate) fn range(rng: &mut StdRng, now: i64) -> RangeRequest {
    let mut bound = || if rng.random_bool(0.8) { 0 } else { (now - rng.random_range(-1..12)).max(0) };
    let bounds = [bound(), bound(), bound(), bound()];
    RangeRequest {
        key: key(rng),
        range_end: end(rng),
        limit: rng.random_range(-1..4),
        sort_order: rng.random_range(0..3),
        sort_target: rng.random_range(0..5),
        serializable: rng.random_bool(0.3),
        keys_only: rng.random_bool(0.3),
        count_only: rng.random_bool(0.1),
        min_mod_revision: bounds[0],
        max_mod_revision: bounds[1],
        min_create_revision: bounds[2],
        max_create_revision: bounds[3],
    }
}

pub(crate) fn put(rng: &mut StdRng) -> PutRequest {
    let (ignore_value, ignore_lease) = (rng.random_bool(0.15), rng.random_bool(0.15));
    PutRequest {
        key: key(rng),
        value: if ignore_value && rng.random_bool(0.8) { Vec::new() } else { value(rng) },
        lease: if ignore_lease && rng.random_bool(0.8) { 0 } else { lease(rng) },
        prev_kv: rng.random_bool(0.3),
        ignore_value,
        ignore_lease,
    }
}

pub(crate) fn delete(rng: &mut StdRng) -> DeleteRequest {
    DeleteRequest { key: key(rng), range_end: end(rng), prev_kv: rng.random_bool(0.3) }
}

fn compare(rng: &mut StdRng, now: i64) -> Compare {
    let near = now - rng.random_range(-1..8);
    let number = if rng.random_bool(0.4) { 0 } else { near };
    let (target, with) = match rng.random_range(0..5) {
        0 => (0, Target::Version(rng.random_range(0..3))),
        1 => (1, Target::Created(number)),
        2 => (2, Target::Modified(number)),
        3 => (3, Target::Value(value(rng))),
        _ => (4, Target::Lease(lease(rng))),
    };
    // What is compared need not be what is stated.
    let target = if rng.random_bool(0.03) { rng.random_range(0..5) } else { target };
    let range_end = if rng.random_bool(0.3) { end(rng) } else { Vec::new() };
    Compare { result: rng.random_range(0..4), target, key: key(rng), with: Some(with), range_end }
}

pub(crate) fn txn(rng: &mut StdRng, now: i64, depth: u32) -> TxnRequest {
    let operations = |rng: &mut StdRng| {
        let most = if rng.random_bool(0.01) { 130 } else { 4 };
        (0..rng.random_range(0..most)).map(|_| operation(rng, now, depth)).collect()
    };
    let compare = (0..rng.random_range(0..3)).map(|_| compare(rng, now)).collect();
    TxnRequest { compare, success: operations(rng), failure: operations(rng) }
}

fn operation(rng: &mut StdRng, now: i64, depth: u32) -> Operation {
    let request = match rng.random_range(0..100) {
        0..35 => Some(Request::Range(range(rng, now))),
        35..70 => Some(Request::Put(put(rng))),
        70..85 => {
            let mut delete = delete(rng);
            // A real server lets the same transaction put one of these keys, and ends if that is to keep its value.
            delete.range_end.retain(|byte| *byte != 0);
            Some(Request::Delete(delete))
        }
        85..99 if depth > 0 => Some(Request::Txn(txn(rng, now, depth - 1))),
        85..99 => Some(Request::Range(range(rng, now))),
        _ => None,
    };
    Operation { request }
}
