//! The messages of etcd's API, with the field numbers of its protocol. They are not those of the client: a number that is wrong
//! there is noticed.

use prost::{Message, Oneof};

macro_rules! messages {
    ($($name:ident { $($field:ident: $type:ty = [$($kind:tt)*];)* })*) => {
        $(#[derive(Clone, PartialEq, Message)]
        pub struct $name { $(#[prost($($kind)*)] pub $field: $type,)* })*
    };
}

messages! {
    Header {
        cluster_id: u64 = [uint64, tag = "1"];
        member_id: u64 = [uint64, tag = "2"];
        revision: i64 = [int64, tag = "3"];
        raft_term: u64 = [uint64, tag = "4"];
    }
    KeyValue {
        key: Vec<u8> = [bytes = "vec", tag = "1"];
        create_revision: i64 = [int64, tag = "2"];
        mod_revision: i64 = [int64, tag = "3"];
        version: i64 = [int64, tag = "4"];
        value: Vec<u8> = [bytes = "vec", tag = "5"];
        lease: i64 = [int64, tag = "6"];
    }
    RangeRequest {
        key: Vec<u8> = [bytes = "vec", tag = "1"];
        range_end: Vec<u8> = [bytes = "vec", tag = "2"];
        limit: i64 = [int64, tag = "3"];
        sort_order: i32 = [int32, tag = "5"];
        sort_target: i32 = [int32, tag = "6"];
        serializable: bool = [bool, tag = "7"];
        keys_only: bool = [bool, tag = "8"];
        count_only: bool = [bool, tag = "9"];
        min_mod_revision: i64 = [int64, tag = "10"];
        max_mod_revision: i64 = [int64, tag = "11"];
        min_create_revision: i64 = [int64, tag = "12"];
        max_create_revision: i64 = [int64, tag = "13"];
    }
    RangeResponse {
        header: Option<Header> = [message, optional, tag = "1"];
        kvs: Vec<KeyValue> = [message, repeated, tag = "2"];
        more: bool = [bool, tag = "3"];
        count: i64 = [int64, tag = "4"];
    }
    PutRequest {
        key: Vec<u8> = [bytes = "vec", tag = "1"];
        value: Vec<u8> = [bytes = "vec", tag = "2"];
        lease: i64 = [int64, tag = "3"];
        prev_kv: bool = [bool, tag = "4"];
        ignore_value: bool = [bool, tag = "5"];
        ignore_lease: bool = [bool, tag = "6"];
    }
    PutResponse {
        header: Option<Header> = [message, optional, tag = "1"];
        prev_kv: Option<KeyValue> = [message, optional, tag = "2"];
    }
    DeleteRequest {
        key: Vec<u8> = [bytes = "vec", tag = "1"];
        range_end: Vec<u8> = [bytes = "vec", tag = "2"];
        prev_kv: bool = [bool, tag = "3"];
    }
    DeleteResponse {
        header: Option<Header> = [message, optional, tag = "1"];
        deleted: i64 = [int64, tag = "2"];
        prev_kvs: Vec<KeyValue> = [message, repeated, tag = "3"];
    }
    Operation {
        request: Option<Request> = [oneof = "Request", tags = "1, 2, 3, 4"];
    }
    Outcome {
        response: Option<Response> = [oneof = "Response", tags = "1, 2, 3, 4"];
    }
    Compare {
        result: i32 = [int32, tag = "1"];
        target: i32 = [int32, tag = "2"];
        key: Vec<u8> = [bytes = "vec", tag = "3"];
        with: Option<Target> = [oneof = "Target", tags = "4, 5, 6, 7, 8"];
        range_end: Vec<u8> = [bytes = "vec", tag = "64"];
    }
    TxnRequest {
        compare: Vec<Compare> = [message, repeated, tag = "1"];
        success: Vec<Operation> = [message, repeated, tag = "2"];
        failure: Vec<Operation> = [message, repeated, tag = "3"];
    }
    TxnResponse {
        header: Option<Header> = [message, optional, tag = "1"];
        succeeded: bool = [bool, tag = "2"];
        responses: Vec<Outcome> = [message, repeated, tag = "3"];
    }
    CompactRequest {
        revision: i64 = [int64, tag = "1"];
        physical: bool = [bool, tag = "2"];
    }
    CompactResponse {
        header: Option<Header> = [message, optional, tag = "1"];
    }
    LeaseGrantRequest {
        ttl: i64 = [int64, tag = "1"];
        id: i64 = [int64, tag = "2"];
    }
    LeaseGrantResponse {
        header: Option<Header> = [message, optional, tag = "1"];
        id: i64 = [int64, tag = "2"];
        ttl: i64 = [int64, tag = "3"];
        error: String = [string, tag = "4"];
    }
    LeaseRevokeRequest {
        id: i64 = [int64, tag = "1"];
    }
    LeaseRevokeResponse {
        header: Option<Header> = [message, optional, tag = "1"];
    }
    LeaseKeepAliveRequest {
        id: i64 = [int64, tag = "1"];
    }
    LeaseKeepAliveResponse {
        header: Option<Header> = [message, optional, tag = "1"];
        id: i64 = [int64, tag = "2"];
        ttl: i64 = [int64, tag = "3"];
    }
    LeaseTimeToLiveRequest {
        id: i64 = [int64, tag = "1"];
        keys: bool = [bool, tag = "2"];
    }
    LeaseTimeToLiveResponse {
        header: Option<Header> = [message, optional, tag = "1"];
        id: i64 = [int64, tag = "2"];
        ttl: i64 = [int64, tag = "3"];
        granted_ttl: i64 = [int64, tag = "4"];
        keys: Vec<Vec<u8>> = [bytes = "vec", repeated, tag = "5"];
    }
    WatchRequest {
        order: Option<WatchOrder> = [oneof = "WatchOrder", tags = "1, 2, 3"];
    }
    WatchCreate {
        key: Vec<u8> = [bytes = "vec", tag = "1"];
        range_end: Vec<u8> = [bytes = "vec", tag = "2"];
        start_revision: i64 = [int64, tag = "3"];
        filters: Vec<i32> = [int32, repeated, tag = "5"];
        prev_kv: bool = [bool, tag = "6"];
        watch_id: i64 = [int64, tag = "7"];
    }
    WatchCancel {
        watch_id: i64 = [int64, tag = "1"];
    }
    WatchProgress {}
    WatchResponse {
        header: Option<Header> = [message, optional, tag = "1"];
        watch_id: i64 = [int64, tag = "2"];
        created: bool = [bool, tag = "3"];
        canceled: bool = [bool, tag = "4"];
        compact_revision: i64 = [int64, tag = "5"];
        cancel_reason: String = [string, tag = "6"];
        events: Vec<Event> = [message, repeated, tag = "11"];
    }
    Event {
        kind: i32 = [int32, tag = "1"];
        kv: Option<KeyValue> = [message, optional, tag = "2"];
        prev_kv: Option<KeyValue> = [message, optional, tag = "3"];
    }
    AuthenticateRequest {
        name: String = [string, tag = "1"];
        password: String = [string, tag = "2"];
    }
    AuthenticateResponse {
        header: Option<Header> = [message, optional, tag = "1"];
        token: String = [string, tag = "2"];
    }
    StatusRequest {}
    StatusResponse {
        header: Option<Header> = [message, optional, tag = "1"];
        version: String = [string, tag = "2"];
        leader: u64 = [uint64, tag = "4"];
        raft_term: u64 = [uint64, tag = "6"];
        errors: Vec<String> = [string, repeated, tag = "8"];
        is_learner: bool = [bool, tag = "10"];
    }
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Request {
    #[prost(message, tag = "1")]
    Range(RangeRequest),
    #[prost(message, tag = "2")]
    Put(PutRequest),
    #[prost(message, tag = "3")]
    Delete(DeleteRequest),
    #[prost(message, tag = "4")]
    Txn(TxnRequest),
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Response {
    #[prost(message, tag = "1")]
    Range(RangeResponse),
    #[prost(message, tag = "2")]
    Put(PutResponse),
    #[prost(message, tag = "3")]
    Delete(DeleteResponse),
    #[prost(message, tag = "4")]
    Txn(TxnResponse),
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Target {
    #[prost(int64, tag = "4")]
    Version(i64),
    #[prost(int64, tag = "5")]
    Created(i64),
    #[prost(int64, tag = "6")]
    Modified(i64),
    #[prost(bytes, tag = "7")]
    Value(Vec<u8>),
    #[prost(int64, tag = "8")]
    Lease(i64),
}

#[derive(Clone, PartialEq, Oneof)]
pub enum WatchOrder {
    #[prost(message, tag = "1")]
    Create(WatchCreate),
    #[prost(message, tag = "2")]
    Cancel(WatchCancel),
    #[prost(message, tag = "3")]
    Progress(WatchProgress),
}

/// The kind of an event: a key was deleted.
pub const DELETE: i32 = 1;
