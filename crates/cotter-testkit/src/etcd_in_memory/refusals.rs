//! The errors of the server, with the codes and texts of etcd 3.4.

use tonic::{Code, Status};

macro_rules! refusals {
    ($($name:ident: $code:ident, $text:literal;)*) => {
        $(pub(super) fn $name() -> Status {
            Status::new(Code::$code, $text)
        })*
    };
}

refusals! {
    empty_key: InvalidArgument, "etcdserver: key is not provided";
    key_not_found: InvalidArgument, "etcdserver: key not found";
    value_provided: InvalidArgument, "etcdserver: value is provided";
    lease_provided: InvalidArgument, "etcdserver: lease is provided";
    too_many_operations: InvalidArgument, "etcdserver: too many operations in txn request";
    duplicate_key: InvalidArgument, "etcdserver: duplicate key given in txn request";
    compacted: OutOfRange, "etcdserver: mvcc: required revision has been compacted";
    future_revision: OutOfRange, "etcdserver: mvcc: required revision is a future revision";
    lease_not_found: NotFound, "etcdserver: requested lease not found";
    lease_exists: FailedPrecondition, "etcdserver: lease already exists";
    lease_too_large: OutOfRange, "etcdserver: too large lease TTL";
    no_login: FailedPrecondition, "etcdserver: authentication is not enabled";
    no_leader: Unavailable, "etcdserver: no leader";
    leader_changed: Unavailable, "etcdserver: leader changed";
    timed_out: Unavailable, "etcdserver: request timed out";
    unknown: Unimplemented, "unknown method or service";
}
