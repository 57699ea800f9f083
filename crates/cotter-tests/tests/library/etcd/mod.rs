//! What is particular to etcd.
//!
//! | file | concept |
//! |---|---|
//! | `lost` | leases that are revoked, entries that are deleted, members that stand still |
//! | `crowd` | many who wait or hold |
//! | `idle` | connections that end while nobody uses them |
//! | `others` | `etcdctl lock` and Go's package `concurrency` in the same folder |
//! | `server_lock` | the lock service of the server, which is not used |
//! | `tls` | certificates and passwords |
//! | `logins` | logins that end before their connection does, passwords that are asked for |
//! | `full` | a database without room |
//! | `put_back` | a cluster that was put back to an older state |
//! | `stale` | a leader that was replaced |
//! | `terms` | another leader, and the one before it that still ends leases |
//! | `through_proxy` | `etcd grpc-proxy`, which numbers watches by itself |
//! | `standstill` | a member that answers pings and no requests |
//! | `slow` | a way to it that is too slow for the shortest lease |
//! | `late` | puts that arrive after their release |

mod crowd;
mod full;
mod idle;
mod late;
mod logins;
mod lost;
mod others;
mod put_back;
mod server_lock;
mod slow;
mod stale;
mod standstill;
mod terms;
mod through_proxy;
mod tls;

use cotter_testkit::servers::Etcd;

/// The ids of all leases, as `etcdctl` writes them.
fn leases(server: &Etcd) -> Vec<String> {
    server.ctl(&["lease", "list"]).lines().skip(1).map(str::to_owned).collect()
}

/// The keys below a prefix.
fn keys(server: &Etcd, prefix: &str) -> Vec<String> {
    let all = server.ctl(&["get", "--prefix", "--keys-only", prefix]);
    all.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
