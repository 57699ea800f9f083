//! Programs that stand between clients and servers in many places, as Debian has them. They take long, and packages that nothing
//! else needs: `scripts/test --long` installs these and runs the tests, and any other run leaves them out.
//!
//! | file | concept |
//! |---|---|
//! | `haproxy` | a balancer before a PostgreSQL primary and its standby |
//! | `nutcracker` | a Redis proxy that knows scripts and commands with keys, and nothing else |
//! | `pgbouncer` | thousands of waits through a PostgreSQL pooler |
//! | `sentinel` | a Redis master that is replaced by one of its replicas |
//!
//! `pgpool` is in the tests of the scheduler.

mod haproxy;
mod nutcracker;
mod pgbouncer;
mod sentinel;
