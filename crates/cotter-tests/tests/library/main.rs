//! The integration tests of the library, as one program: linking one is much faster than linking one per file.
//!
//! | module | concept |
//! |---|---|
//! | `conformance` | every store against the contract, case by case |
//! | `mutex`, `rwlock`, `semaphore` | what leases, owners and guards mean, on a clock that the test moves |
//! | `latch`, `election` | parties that count down at once; leaders and those who follow |
//! | `tickets` | locks that pass from one process to another |
//! | `multi` | several locks at once |
//! | `front` | readers at the front of a queue |
//! | `generous` | a store that answers more time than it was asked for |
//! | `trial` | the lock that doctor takes |
//! | `stepped` | a server whose clock is stepped |
//! | `handles` | what handles and guards can do, and how they end |
//! | `values` | names, tokens and losses as programs pass them on |
//! | `owners` | one owner in several tasks |
//! | `closing` | the end of a client that is in use |
//! | `placement` | runtimes, sleepers, threads |
//! | `threads` | a process that can start no more threads |
//! | `slow_subscriber` | a `tracing` subscriber that blocks |
//! | `observed` | what observers, the log and metrics are told |
//! | `forks` | processes that fork and go on without `exec` |
//! | `which_store`, `options`, `proofs`, `links` | the tables and the options of docs/stores/; the tests of each promise; links between pages |
//! | `rings` | the shape of the source |
//! | `quorum` | a quorum of real servers that fail |
//! | `authority` | certificates |
//! | `logins` | logging in to a database server |
//! | `vault` | passwords that an application gets from somewhere else |
//! | `from_memory` | certificates that an application passes in code |
//! | `counting` | clients that count while servers change places |
//! | `namespaces` | a network that drops whatever is sent |
//! | `next_host` | a server that is left for the next one of the URL |
//! | `players` | clients that want one lock while servers change places |
//! | `programs` | the programs of `programs/`, on real servers |
//! | `long_run` | programs that stand between clients and servers, in the long run only |
//! | `kept` | names that stay locked after the release |
//! | `shown` | pages that show a program |
//! | `silent` | a store that does not answer |
//! | `interrupted` | waits in a store that fails now and then |
//! | `deserted` | waiters that leave while their store cannot be reached |
//! | `crowd` | many claims that wait for one lock |
//! | `leader_killed` | clients that want one name while the leader of their cluster is killed |
//! | `peer` | another lock client in a process of its own |
//! | `shedlock` | the real ShedLock, on any database |
//! | `splitter` | a database whose reads go to a replica that is behind |
//! | `stopped` | a process that is stopped for longer than its session |
//! | `suspect` | what a holder sees while the server of its session is silent |
//! | `wrong_port` | a store at the port of another server |
//! | `steps` | steps that many tests take |
//! | `etcd`, `file`, `flock`, `mysql`, `postgres`, `redis`, `sqlite`, `zookeeper` | what is particular to one store |
//!
//! A new store gets a file in `conformance` and a module of its own here; its tests are ignored with what they need, as
//! `#[ignore = "needs redis-server"]`. A test that changes its whole process (resource limits, a global subscriber) runs
//! in one of its own: `cotter_testkit::in_own_process`.

// What tests of several stores share is not all used where only one of the stores is compiled.
#![cfg_attr(
    not(all(
        feature = "etcd",
        feature = "mysql",
        feature = "postgres",
        feature = "redis",
        feature = "sqlite",
        feature = "zookeeper"
    )),
    allow(dead_code, unused_imports)
)]

mod authority;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod clocks;
mod closing;
mod conformance;
#[cfg(feature = "redis")]
mod counting;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod crowd;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod deserted;
mod election;
#[cfg(feature = "etcd")]
mod etcd;
mod file;
mod flock;
#[cfg(unix)]
mod forks;
#[cfg(any(
    feature = "etcd",
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "zookeeper"
))]
mod from_memory;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
mod front;
mod generous;
mod handles;
mod interrupted;
mod kept;
mod latch;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod leader_killed;
mod links;
mod logins;
#[cfg(all(feature = "postgres", feature = "redis"))]
mod long_run;
mod made_to_fail;
mod multi;
mod mutex;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(all(target_os = "linux", any(feature = "mysql", feature = "postgres")))]
mod namespaces;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod next_host;
mod observed;
mod options;
mod owners;
#[cfg(any(feature = "etcd", feature = "zookeeper", feature = "redis"))]
mod peer;
mod placement;
#[cfg(feature = "redis")]
mod players;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(all(feature = "etcd", feature = "postgres", feature = "redis"))]
mod programs;
mod proofs;
#[cfg(feature = "redis")]
mod quorum;
#[cfg(feature = "redis")]
mod redis;
mod resized;
mod rings;
mod rwlock;
mod semaphore;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod shedlock;
mod shown;
mod silent;
mod slow_subscriber;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod splitter;
#[cfg(all(feature = "sqlite", not(cotter_portable)))]
mod sqlite;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod stepped;
mod steps;
mod stopped;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod suspect;
#[cfg(all(
    target_os = "linux",
    feature = "etcd",
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "zookeeper"
))]
mod threads;
mod tickets;
mod trial;
mod values;
mod vault;
mod which_store;
#[cfg(all(
    feature = "etcd",
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "zookeeper"
))]
mod wrong_port;
#[cfg(feature = "zookeeper")]
mod zookeeper;
