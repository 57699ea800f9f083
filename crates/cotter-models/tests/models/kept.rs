//! With every rule in force nothing is found.

use crate::bounds::{Bounds, Fault};
use crate::check::keeps;
use cotter_testkit::is_long;

const PACKETS: [Fault; 5] =
    [Fault::LateRequest, Fault::LateReply, Fault::LateMessage, Fault::LostReply, Fault::LostMessage];
const CONNECTIONS: [Fault; 4] = [Fault::Cut, Fault::Pause, Fault::Unsubscribe, Fault::Crash];

fn all() -> Vec<Fault> {
    [&PACKETS[..], &CONNECTIONS[..]].concat()
}

#[test]
fn packets_late_and_lost() {
    keeps(Bounds::new("packets, 2 x 2", &[2, 2], &PACKETS, 1, 5));
    if is_long() {
        keeps(Bounds::new("packets, 2 x 2, two faults", &[2, 2], &PACKETS, 2, 3));
        keeps(Bounds::new("packets, 2 + 1, two faults", &[2, 1], &PACKETS, 2, 5));
    }
}

#[test]
fn connections_cut_and_processes_paused() {
    keeps(Bounds::new("connections, 2 x 2", &[2, 2], &CONNECTIONS, 1, 4));
    if is_long() {
        keeps(Bounds::new("everything, 2 x 2", &[2, 2], &all(), 1, 6));
    }
}

#[test]
fn waiters_that_give_up() {
    let giving_up = |bounds| Bounds { give_up: true, ..bounds };
    let kinds = [&PACKETS[..], &[Fault::Cut]].concat();
    keeps(giving_up(Bounds::new("giving up, 2 + 1", &[2, 1], &kinds, 1, 4)));
    if is_long() {
        keeps(giving_up(Bounds::new("giving up, 2 x 2", &[2, 2], &kinds, 1, 3)));
    }
}

#[test]
fn several_faults() {
    keeps(Bounds::new("two faults, 1 + 1", &[1, 1], &all(), 2, 5));
    if is_long() {
        let kinds = [&PACKETS[..], &[Fault::Pause, Fault::Unsubscribe]].concat();
        keeps(Bounds::new("two faults, 2 + 1", &[2, 1], &kinds, 2, 5));
    }
}

#[test]
fn three_faults() {
    let horizon = if is_long() { 4 } else { 1 };
    keeps(Bounds::new("three faults, 1 + 1", &[1, 1], &all(), 3, horizon));
}

#[test]
fn three_processes() {
    let kinds = [Fault::Unsubscribe, Fault::Crash, Fault::LostMessage];
    keeps(Bounds::new("three processes", &[1, 1, 1], &kinds, 1, 4));
    let host = Bounds::new("a host with holder and waiter dies", &[1, 1, 1], &[Fault::Vanish], 1, 5);
    keeps(Bounds { hosts: vec![0, 0, 1], ..host });
    if is_long() {
        keeps(Bounds::new("three processes, everything", &[1, 1, 1], &all(), 1, 4));
        keeps(Bounds::new("three processes, two faults", &[1, 1, 1], &kinds, 2, 4));
    }
}

#[test]
fn refused_writes_and_full_memory() {
    let kinds = [Fault::Refuse, Fault::Full, Fault::LostReply];
    keeps(Bounds::new("refused writes, 2 + 1", &[2, 1], &kinds, 2, 4));
}

#[test]
fn renewals() {
    let renewing = |bounds| Bounds { extends: 1, ..bounds };
    keeps(renewing(Bounds::new("renewals, 1 + 1", &[1, 1], &PACKETS, 1, 6)));
    keeps(Bounds { extend_ttl: 1, ..renewing(Bounds::new("shorter renewals", &[1, 1], &PACKETS, 1, 5)) });
    if is_long() {
        keeps(renewing(Bounds::new("renewals, 2 + 1", &[2, 1], &all(), 1, 6)));
    }
}

#[test]
fn a_server_that_forgets() {
    let kinds = [Fault::Restore];
    keeps(Bounds::new("state lost or restored", &[2, 1], &kinds, 1, 4));
    keeps(Bounds { turns: 12, ..Bounds::new("state lost, blocks of turns", &[2, 1], &kinds, 1, 3) });
}

#[test]
fn a_clock_set_back() {
    let kinds = [Fault::StepBack, Fault::Crash];
    let bounds = Bounds::new("clock set back", &[1, 1], &kinds, 2, 9);
    let seen_by_a_poll = bounds.dark + bounds.poll;
    keeps(Bounds { dark: seen_by_a_poll, ..bounds });
}

/// A grant by message is for a tick, and its holder asks for the rest.
#[test]
fn short_leases_by_message() {
    let short = |bounds| Bounds { short: 1, extends: 1, ..bounds };
    keeps(short(Bounds::new("short by message, 2 + 1", &[2, 1], &all(), 1, 4)));
    if is_long() {
        keeps(short(Bounds::new("short by message, 1 + 1, two faults", &[1, 1], &all(), 2, 4)));
    }
}

#[test]
fn a_lock_that_is_deleted() {
    keeps(Bounds::new("lock deleted", &[1, 1, 1], &[Fault::Delete], 1, 4));
    keeps(Bounds::new("lock deleted, 2 + 1", &[2, 1], &[Fault::Delete, Fault::Unsubscribe], 2, 4));
}

#[test]
fn a_server_that_stands_still() {
    keeps(Bounds::new("standstill, 1 + 1", &[1, 1], &[Fault::Standstill], 1, 7));
}
