//! Carrying out requests about keys.

use super::checks;
use super::keys::{Change, Keys, Span, Write};
use super::leases::Leases;
use super::messages::{
    Compare, DeleteRequest, DeleteResponse, Header, KeyValue, Operation, Outcome, PutRequest, PutResponse,
    RangeRequest, RangeResponse, Request, Response, Target, TxnRequest, TxnResponse,
};
use super::refusals::{key_not_found, lease_not_found};
use std::cmp::Ordering;
use tonic::Status;

/// What a request has come to, and what it has changed.
type Done<A> = Result<(A, Option<Change>), Status>;

fn at(revision: i64) -> Option<Header> {
    Some(Header { revision, ..Header::default() })
}

pub(super) fn range(keys: &Keys, request: &RangeRequest) -> Result<RangeResponse, Status> {
    checks::key(&request.key)?;
    Ok(found(keys, keys.revision, request))
}

pub(super) fn put(keys: &mut Keys, leases: &Leases, request: &PutRequest) -> Done<PutResponse> {
    checks::put(request)?;
    // A put in a transaction is asked for its key first.
    has_lease(leases, request)?;
    may_put(keys, leases, request)?;
    let mut write = keys.begin();
    let response = write_key(&mut write, request);
    Ok((response, write.end()))
}

pub(super) fn delete(keys: &mut Keys, request: &DeleteRequest) -> Done<DeleteResponse> {
    checks::key(&request.key)?;
    let mut write = keys.begin();
    let response = remove(&mut write, request);
    Ok((response, write.end()))
}

pub(super) fn txn(keys: &mut Keys, leases: &Leases, request: &TxnRequest) -> Done<TxnResponse> {
    checks::txn(request)?;
    let path = path(keys, request);
    may_write(keys, leases, request, &mut path.iter())?;
    let mut write = keys.begin();
    let mut response = run(&mut write, request, &mut path.iter());
    response.header = at(write.revision());
    Ok((response, write.end()))
}

/// Which branches are taken, of each transaction and those in it: decided before anything is written.
fn path(keys: &Keys, request: &TxnRequest) -> Vec<bool> {
    let is_true = request.compare.iter().all(|compare| holds(keys, compare));
    let mut path = vec![is_true];
    for operation in branch(request, is_true) {
        if let Some(Request::Txn(nested)) = &operation.request {
            path.extend(self::path(keys, nested));
        }
    }
    path
}

fn branch(request: &TxnRequest, is_true: bool) -> &[Operation] {
    if is_true { &request.success } else { &request.failure }
}

fn holds(keys: &Keys, compare: &Compare) -> bool {
    let span = Span::of(&compare.key, &compare.range_end);
    let mut found = keys.within(&span).peekable();
    if found.peek().is_none() {
        return compare.target != 3 && compares(compare, &KeyValue::default());
    }
    found.all(|kv| compares(compare, kv))
}

fn compares(compare: &Compare, kv: &KeyValue) -> bool {
    let with = compare.with.as_ref();
    let number = |ours: i64, theirs: Option<i64>| ours.cmp(&theirs.unwrap_or_default());
    let order = match compare.target {
        0 => number(kv.version, with.and_then(|t| if let Target::Version(n) = t { Some(*n) } else { None })),
        1 => number(
            kv.create_revision,
            with.and_then(|t| if let Target::Created(n) = t { Some(*n) } else { None }),
        ),
        2 => number(
            kv.mod_revision,
            with.and_then(|t| if let Target::Modified(n) = t { Some(*n) } else { None }),
        ),
        3 => match with {
            Some(Target::Value(value)) => kv.value.cmp(value),
            _ => kv.value.as_slice().cmp(&[]),
        },
        4 => number(kv.lease, with.and_then(|t| if let Target::Lease(n) = t { Some(*n) } else { None })),
        _ => Ordering::Equal,
    };
    match compare.result {
        0 => order.is_eq(),
        1 => order.is_gt(),
        2 => order.is_lt(),
        3 => order.is_ne(),
        _ => true,
    }
}

/// Whether all that the branches write may be written: nothing is, if not.
fn may_write<'a>(
    keys: &Keys,
    leases: &Leases,
    request: &TxnRequest,
    path: &mut impl Iterator<Item = &'a bool>,
) -> Result<(), Status> {
    for operation in branch(request, path.next().is_some_and(|is_true| *is_true)) {
        match &operation.request {
            Some(Request::Put(put)) => may_put(keys, leases, put)?,
            Some(Request::Txn(nested)) => may_write(keys, leases, nested, path)?,
            _ => {}
        }
    }
    Ok(())
}

fn may_put(keys: &Keys, leases: &Leases, put: &PutRequest) -> Result<(), Status> {
    let needs_key = put.ignore_value || put.ignore_lease;
    if needs_key && keys.get(&put.key).is_none() { Err(key_not_found()) } else { has_lease(leases, put) }
}

fn has_lease(leases: &Leases, put: &PutRequest) -> Result<(), Status> {
    if put.lease == 0 || leases.has(put.lease) { Ok(()) } else { Err(lease_not_found()) }
}

fn run<'a>(
    write: &mut Write<'_>,
    request: &TxnRequest,
    path: &mut impl Iterator<Item = &'a bool>,
) -> TxnResponse {
    let succeeded = path.next().is_some_and(|is_true| *is_true);
    let mut responses = Vec::new();
    for operation in branch(request, succeeded) {
        let response = match operation.request.as_ref() {
            Some(Request::Range(range)) => Response::Range(found(write.keys(), write.revision(), range)),
            Some(Request::Put(put)) => Response::Put(write_key(write, put)),
            Some(Request::Delete(delete)) => Response::Delete(remove(write, delete)),
            Some(Request::Txn(nested)) => Response::Txn(run(write, nested, path)),
            None => continue,
        };
        responses.push(Outcome { response: Some(response) });
    }
    TxnResponse { header: Some(Header::default()), succeeded, responses }
}

fn found(keys: &Keys, revision: i64, request: &RangeRequest) -> RangeResponse {
    let mut kvs: Vec<_> = keys.within(&Span::of(&request.key, &request.range_end)).cloned().collect();
    let count = kvs.len() as i64;
    if request.count_only {
        kvs.clear();
    }
    let limit = usize::try_from(request.limit).unwrap_or_default();
    let bounds = [
        request.min_mod_revision,
        request.max_mod_revision,
        request.min_create_revision,
        request.max_create_revision,
    ];
    // What is sorted without an order is only what would be answered, and one more.
    if limit > 0 && request.sort_order == 0 && bounds == [0; 4] {
        kvs.truncate(limit + 1);
    }
    let from = |bound: i64, number: i64| bound == 0 || number >= bound;
    let to = |bound: i64, number: i64| bound == 0 || number <= bound;
    kvs.retain(|kv| {
        from(request.min_mod_revision, kv.mod_revision)
            && to(request.max_mod_revision, kv.mod_revision)
            && from(request.min_create_revision, kv.create_revision)
            && to(request.max_create_revision, kv.create_revision)
    });
    if request.sort_order != 0 || request.sort_target != 0 {
        // Whatever is equal stays in the order of the keys, in both directions.
        kvs.sort_by(|a, b| {
            let order = match request.sort_target {
                1 => a.version.cmp(&b.version),
                2 => a.create_revision.cmp(&b.create_revision),
                3 => a.mod_revision.cmp(&b.mod_revision),
                4 => a.value.cmp(&b.value),
                _ => a.key.cmp(&b.key),
            };
            if request.sort_order == 2 { order.reverse() } else { order }
        });
    }
    let more = limit > 0 && kvs.len() > limit;
    if more {
        kvs.truncate(limit);
    }
    if request.keys_only {
        kvs.iter_mut().for_each(|kv| kv.value.clear());
    }
    RangeResponse { header: at(revision), kvs, more, count }
}

fn write_key(write: &mut Write<'_>, put: &PutRequest) -> PutResponse {
    let before = write.keys().get(&put.key).cloned();
    let (mut value, mut lease) = (put.value.clone(), put.lease);
    if let Some(before) = &before {
        if put.ignore_value {
            value.clone_from(&before.value);
        }
        if put.ignore_lease {
            lease = before.lease;
        }
    }
    let revision = write.put(&put.key, value, lease);
    PutResponse { header: at(revision), prev_kv: before.filter(|_| put.prev_kv) }
}

fn remove(write: &mut Write<'_>, delete: &DeleteRequest) -> DeleteResponse {
    let gone = write.delete(&Span::of(&delete.key, &delete.range_end));
    let (deleted, header) = (gone.len() as i64, at(write.revision()));
    DeleteResponse { header, deleted, prev_kvs: if delete.prev_kv { gone } else { Vec::new() } }
}
