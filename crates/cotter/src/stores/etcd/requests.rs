//! Building requests, and reading their answers.

use super::messages::{
    ASCENDING, BY_CREATION, Compare, DESCENDING, DeleteRequest, EQUAL, KeyValue, LESS, Operation, Outcome,
    PutRequest, RangeRequest, Request, Response, Target, TxnRequest, TxnResponse, WatchResponse,
};
use super::names::Line;

pub(super) const TXN: &str = "/etcdserverpb.KV/Txn";
/// A server refuses transactions of more than 128 operations.
pub(super) const MAX_OPERATIONS: usize = 100;

fn operation(request: Request) -> Operation {
    Operation { request: Some(request) }
}

pub(super) fn put(key: Vec<u8>, value: &[u8], lease: i64) -> Operation {
    operation(Request::Put(PutRequest { key, value: value.to_vec(), lease, ..PutRequest::default() }))
}

/// Writes an existing key unchanged, so that its watchers receive an event.
pub(super) fn touch(key: Vec<u8>) -> Operation {
    let put = PutRequest { key, ignore_value: true, ignore_lease: true, ..PutRequest::default() };
    operation(Request::Put(put))
}

pub(super) fn delete(key: Vec<u8>) -> Operation {
    operation(Request::Delete(DeleteRequest { key, range_end: Vec::new() }))
}

/// Asks for one key, without its value.
pub(super) fn look(key: Vec<u8>) -> Operation {
    operation(Request::Range(RangeRequest { key, keys_only: true, ..RangeRequest::default() }))
}

/// Asks for one key and its value.
pub(super) fn read(key: Vec<u8>) -> Operation {
    operation(Request::Range(RangeRequest { key, ..RangeRequest::default() }))
}

/// Asks for the first entry of a line.
pub(super) fn first(line: &Line) -> Operation {
    some(line, ASCENDING, 1, 0)
}

/// Asks for the last entries of a line: at most `limit`, the last one first. With a revision, only for those that were
/// created up to then.
pub(super) fn last(line: &Line, limit: i64, up_to: i64) -> Operation {
    some(line, DESCENDING, limit, up_to)
}

fn some(line: &Line, sort_order: i32, limit: i64, max_create_revision: i64) -> Operation {
    operation(Request::Range(RangeRequest {
        key: line.start(),
        range_end: line.end(),
        limit,
        sort_order,
        sort_target: BY_CREATION,
        keys_only: true,
        max_create_revision,
        ..RangeRequest::default()
    }))
}

/// The same question to the member alone: it does not ask the leader, and may be behind it.
pub(super) fn here(mut question: Operation) -> Operation {
    if let Some(Request::Range(range)) = &mut question.request {
        range.serializable = true;
    }
    question
}

/// Asks for all entries of a line.
pub(super) fn whole(line: &Line) -> Operation {
    some(line, ASCENDING, 0, 0)
}

/// A transaction inside a transaction.
pub(super) fn nested(compare: Vec<Compare>, success: Vec<Operation>) -> Operation {
    operation(Request::Txn(TxnRequest { compare, success, failure: Vec::new() }))
}

/// One operation if the comparison is true, the other one if not.
pub(super) fn either(compare: Compare, success: Operation, failure: Operation) -> Operation {
    let (success, failure) = (vec![success], vec![failure]);
    operation(Request::Txn(TxnRequest { compare: vec![compare], success, failure }))
}

/// True if the key has this value of the target; 0 for a key that is not there.
pub(super) fn equal(key: Vec<u8>, with: Target) -> Compare {
    Compare { result: EQUAL, target: with.number(), key, with: Some(with), range_end: Vec::new() }
}

/// True if the key is there and its value of the target is smaller.
pub(super) fn less(key: Vec<u8>, with: Target) -> Compare {
    Compare { result: LESS, ..equal(key, with) }
}

/// True if the line is empty.
pub(super) fn empty(line: &Line) -> Compare {
    Compare { range_end: line.end(), ..equal(line.start(), Target::Created(0)) }
}

/// True if no entry of the line was created after this revision.
pub(super) fn until(line: &Line, revision: i64) -> Compare {
    Compare { range_end: line.end(), ..less(line.start(), Target::Created(revision + 1)) }
}

impl TxnRequest {
    /// Operations without a condition.
    pub(super) fn of(success: Vec<Operation>) -> Self {
        Self { success, ..Self::default() }
    }
}

impl WatchResponse {
    /// Whether it refuses a watch, which may be any of those that were asked for: some servers do not say which.
    pub(super) fn is_refusal(&self) -> bool {
        self.created && self.canceled && self.compact_revision == 0
    }

    /// The newest revision that the answer tells of; 0 if it does not say.
    pub(super) fn revision(&self) -> i64 {
        self.header.as_ref().map_or(0, |header| header.revision)
    }
}

impl TxnResponse {
    /// The revision of the store after the transaction: that of all its changes, if it made any.
    pub(super) fn revision(&self) -> i64 {
        self.header.as_ref().map_or(0, |header| header.revision)
    }

    /// The keys that the operation with this number has found.
    pub(super) fn found(&self, number: usize) -> &[KeyValue] {
        match self.responses.get(number) {
            Some(Outcome { response: Some(Response::Range(range)) }) => &range.kvs,
            _ => &[],
        }
    }

    /// The key that was created last, of those that the operations from this number on have found.
    pub(super) fn latest(&self, from: usize) -> Option<&KeyValue> {
        let found = (from..self.responses.len()).filter_map(|number| self.found(number).first());
        found.max_by_key(|kv| kv.create_revision)
    }

    /// The number of keys that the operation with this number has deleted.
    pub(super) fn deleted(&self, number: usize) -> i64 {
        match self.responses.get(number) {
            Some(Outcome { response: Some(Response::Delete(delete)) }) => delete.deleted,
            _ => 0,
        }
    }

    /// Whether a key was written, here or in a nested transaction.
    pub(super) fn has_written(&self) -> bool {
        self.responses.iter().any(|outcome| match &outcome.response {
            Some(Response::Put(_)) => true,
            Some(Response::Txn(txn)) => txn.has_written(),
            _ => false,
        })
    }
}
