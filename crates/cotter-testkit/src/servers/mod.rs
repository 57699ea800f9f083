//! Real servers on free ports in temporary folders, and a proxy that loses, delays and cuts what goes to them.
//!
//! | file | concept |
//! |---|---|
//! | `redis` | a Redis server: started, stopped, killed, restarted, made a replica |
//! | `etcd`, `grpc_proxy` | an etcd cluster: its members are stopped, killed, restarted; etcd's proxy before it |
//! | `standstill` | a proxy before a member of it that stands still, and answers pings |
//! | `zookeeper`, `znodes` | the same of ZooKeeper; its nodes |
//! | `redis_cluster` | a cluster of Redis servers |
//! | `sentinel`, `nutcracker` | the sentinels of a Redis master; a proxy without most commands before it |
//! | `postgres`, `pooler` | a PostgreSQL server; a pooler before it |
//! | `standby`, `pgpool` | a copy of it that follows; a pooler that spreads reads over the two |
//! | `haproxy` | a balancer before servers of which one is the master |
//! | `mariadb`, `replica` | a MariaDB server; one that follows it |
//! | `database` | what the two have in common |
//! | `instance`, `cluster` | a database server: its port and process; its folder, and the user that it runs as |
//! | `ports` | ports for all of them |
//! | `process`, `logs` | the process of a server; what it wrote last, for a test that fails |
//! | `acl` | the users of the documentation, who may do what cotter needs and nothing else |
//! | `wire` | a connection to one, spoken to by hand |
//! | `skew`, `fork` | libraries loaded in front of others: a clock that can be stepped, a call that forks |
//! | `proxy` | the proxy |
//! | `splitter` | a proxy that sends reads to a replica that is behind |
//! | `begins` | a proxy that opens transactions and leaves them open |
//! | `fault_rates` | its faults at random |
//! | `kept` | a packet that it keeps back |
//!
//! Each kind of server is a file here. Its `start` panics where the program is missing: tests that need it are ignored with
//! its name, and `scripts/servers` installs it.

mod acl;
mod begins;
mod cluster;
mod database;
mod etcd;
mod fault_rates;
mod grpc_proxy;
mod haproxy;
mod instance;
mod kept;
mod logs;
mod mariadb;
mod nutcracker;
mod pgpool;
mod pooler;
mod ports;
mod postgres;
mod process;
mod proxy;
mod redis;
mod redis_cluster;
mod replica;
mod sentinel;
mod skew;
mod splitter;
mod standby;
mod standstill;
mod wire;
mod znodes;
mod zookeeper;

pub use acl::acl_rule;
pub use begins::Begins;
pub use database::Database;
pub use etcd::Etcd;
pub use fault_rates::FaultRates;
pub use grpc_proxy::GrpcProxy;
pub use haproxy::Haproxy;
pub use kept::Kept;
pub use mariadb::{Mariadb, MariadbBuilder};
pub use nutcracker::Nutcracker;
pub use pgpool::Pgpool;
pub use pooler::Pooler;
pub use ports::free_port;
pub use postgres::{Postgres, PostgresBuilder};
pub use proxy::{Loss, Proxy};
pub use redis::{Redis, RedisBuilder, redlock_url};
pub use redis_cluster::{RedisCluster, RedisClusterBuilder};
pub use sentinel::{Sentinels, SentinelsBuilder};
pub use skew::forking_library;
pub use splitter::Splitter;
pub use standstill::Standstill;
pub use wire::Wire;
pub use znodes::{Znode, Znodes};
pub use zookeeper::ZooKeeper;

use std::io;
use std::ops::RangeInclusive;

/// The length of a message, if it may have this one. Clients that cannot connect ask in other protocols who listens here, and the
/// first letters of such a request would be gigabytes.
fn length(bytes: u32, allowed: RangeInclusive<u32>) -> io::Result<usize> {
    match allowed.contains(&bytes) {
        true => usize::try_from(bytes).map_err(io::Error::other),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {bytes} bytes"))),
    }
}
