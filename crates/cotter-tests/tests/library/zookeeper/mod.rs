//! What is particular to ZooKeeper.
//!
//! | file | concept |
//! |---|---|
//! | `lost` | sessions that end, nodes that are deleted, servers and processes that stand still |
//! | `alive` | how long a session lives |
//! | `late` | answers that are lost, and requests that arrive after their release |
//! | `crowd` | many who wait |
//! | `passed_over` | waiters that give no sign of life, and holders that have waited |
//! | `resized` | semaphores whose size is changed |
//! | `folders` | the folders of names, which the servers delete |
//! | `cut_off` | a follower without its leader, a leader without its followers, and members that are killed |
//! | `others` | Curator and kazoo in the same folders |
//! | `passwords` | passwords that an application gets from somewhere else |
//! | `refusals` | URLs and set-ups that cannot work |
//! | `tls` | TLS, with certificates on both sides |

mod alive;
mod crowd;
mod cut_off;
mod folders;
mod late;
mod lost;
mod others;
mod passed_over;
mod passwords;
mod refusals;
mod resized;
mod tls;

use cotter_testkit::servers::ZooKeeper;
use std::sync::{Arc, Mutex, Weak};

/// One server for the tests that run at the same time and do nothing to it: their names differ.
pub(crate) fn shared() -> Arc<ZooKeeper> {
    static RUNNING: Mutex<Weak<ZooKeeper>> = Mutex::new(Weak::new());
    let mut running = RUNNING.lock().expect("no test panics here");
    running.upgrade().unwrap_or_else(|| {
        let server = Arc::new(ZooKeeper::start(1));
        *running = Arc::downgrade(&server);
        server
    })
}

/// How many requests the server has received.
fn received(server: &ZooKeeper) -> usize {
    let told = server.tell(0, "srvr").unwrap();
    let line = told.lines().find_map(|line| line.strip_prefix("Received: ")).expect("it counts them");
    line.trim().parse().unwrap()
}

/// The paths of the places in the queue of a name.
fn places(server: &ZooKeeper, name: &str) -> Vec<String> {
    let line = format!("/cotter/lock/{name}");
    server.nodes(0).children(&line).iter().map(|node| format!("{line}/{node}")).collect()
}

/// The session of the only place in the queue of a name.
fn session_of(server: &ZooKeeper, name: &str) -> i64 {
    let places = places(server, name);
    assert_eq!(places.len(), 1, "{places:?}");
    server.nodes(0).get(&places[0]).expect("it is there").owner
}
