//! Assertions that fail to compile when a public type stops being `Send`, `Sync`, `Unpin` or unwind safe.

use crate::backend::{Claim, ClaimId, Connect, Grant, Host, Session};
use crate::clock::{Clock, Idle, Sleep};
use crate::*;
use std::panic::{RefUnwindSafe, UnwindSafe};

fn shared<T: Send + Sync + Unpin + 'static>() {}
fn owned<T: Send + Unpin + 'static>() {}
fn unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
fn value<T: Clone + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}

#[test]
fn handles_can_be_shared_and_sent() {
    shared::<Client>();
    shared::<Builder>();
    shared::<Mutex>();
    shared::<RwLock>();
    shared::<Semaphore>();
    shared::<Records>();
    shared::<Fence>();
    shared::<ManualClock>();
    shared::<memory::Store>();
    shared::<Host>();
    shared::<Session>();
    shared::<Idle>();
    shared::<Box<dyn Clock>>();
    shared::<Box<dyn Connect>>();
    shared::<Sleep>();
}

#[test]
fn guards_and_their_signals_can_be_shared_and_sent() {
    shared::<Guard>();
    shared::<ReadGuard>();
    shared::<WriteGuard>();
    shared::<Permit>();
    shared::<LossSignal>();
    shared::<ExpirySignal>();
}

#[test]
fn operations_can_be_spawned() {
    owned::<Op<Client>>();
    owned::<Op<Guard>>();
    owned::<Op<Option<ReadGuard>>>();
    owned::<Op<Released>>();
}

#[test]
fn plain_values_can_go_anywhere() {
    value::<Owner>();
    value::<Lease>();
    value::<Name>();
    value::<FencingToken>();
    value::<ErrorKind>();
    value::<Lost>();
    value::<Expiring>();
    value::<LossCause>();
    value::<Released>();
    value::<Stale>();
    value::<Record>();
    value::<Filter>();
    value::<Eviction>();
    value::<EvictOrder>();
    value::<Finding>();
    value::<PruneOrder>();
    value::<Pruned>();
    value::<Info>();
    value::<Note>();
    value::<Claim>();
    value::<ClaimId>();
    shared::<Error>();
    shared::<Grant>();
    unwind_safe::<Fence>();
}
