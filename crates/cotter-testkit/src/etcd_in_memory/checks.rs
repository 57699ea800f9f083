//! Requests that are wrong by themselves, whatever the store contains.

use super::keys::Span;
use super::messages::{Operation, PutRequest, Request, TxnRequest};
use super::refusals::{
    duplicate_key, empty_key, key_not_found, lease_provided, too_many_operations, value_provided,
};
use std::collections::BTreeSet;
use tonic::Status;

/// A transaction has at most so many conditions, and operations of each branch, of those in it less so many.
const MAX_OPERATIONS: usize = 128;

pub(super) fn key(key: &[u8]) -> Result<(), Status> {
    if key.is_empty() { Err(empty_key()) } else { Ok(()) }
}

pub(super) fn put(put: &PutRequest) -> Result<(), Status> {
    key(&put.key)?;
    match put {
        put if put.ignore_value && !put.value.is_empty() => Err(value_provided()),
        put if put.ignore_lease && put.lease != 0 => Err(lease_provided()),
        _ => Ok(()),
    }
}

pub(super) fn txn(txn: &TxnRequest) -> Result<(), Status> {
    shape(txn, MAX_OPERATIONS)?;
    writes(&txn.success)?;
    writes(&txn.failure).map(drop)
}

fn shape(txn: &TxnRequest, most: usize) -> Result<(), Status> {
    let count = txn.compare.len().max(txn.success.len()).max(txn.failure.len());
    if count > most {
        return Err(too_many_operations());
    }
    txn.compare.iter().try_for_each(|compare| key(&compare.key))?;
    txn.success.iter().chain(&txn.failure).try_for_each(|operation| match &operation.request {
        Some(Request::Range(range)) => key(&range.key),
        Some(Request::Put(request)) => put(request),
        Some(Request::Delete(delete)) => key(&delete.key),
        Some(Request::Txn(nested)) => shape(nested, most - count),
        None => Err(key_not_found()),
    })
}

/// The keys that operations put, and those that they delete.
type Writes = (BTreeSet<Vec<u8>>, Vec<Span>);

/// No key is put twice, or put and deleted.
fn writes(operations: &[Operation]) -> Result<Writes, Status> {
    let requests = || operations.iter().filter_map(|operation| operation.request.as_ref());
    let (mut puts, mut deletes) = (BTreeSet::new(), Vec::new());
    for request in requests() {
        // A real server takes the zero that means all keys from here on for the end of a range that has none.
        if let Request::Delete(delete) = request
            && delete.range_end != [0]
        {
            deletes.push(Span::of(&delete.key, &delete.range_end));
        }
    }
    let is_deleted = |deletes: &[Span], key: &[u8]| deletes.iter().any(|span| span.contains(key));
    for request in requests() {
        let Request::Txn(nested) = request else { continue };
        let ((then, deleted_then), (or, deleted_or)) = (writes(&nested.success)?, writes(&nested.failure)?);
        let is_twice = then.iter().any(|key| puts.contains(key))
            || or.iter().any(|key| puts.contains(key) && !then.contains(key));
        if is_twice || then.iter().chain(&or).any(|key| is_deleted(&deletes, key)) {
            return Err(duplicate_key());
        }
        puts.extend(then.into_iter().chain(or));
        deletes.extend(deleted_then.into_iter().chain(deleted_or));
    }
    for request in requests() {
        if let Request::Put(put) = request
            && (is_deleted(&deletes, &put.key) || !puts.insert(put.key.clone()))
        {
            return Err(duplicate_key());
        }
    }
    Ok((puts, deletes))
}
