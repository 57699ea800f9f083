//! Programs that stand between clients and servers in many places, as Debian has them. They take long, and packages that nothing
//! else needs: `scripts/test --long` installs these and runs the tests, and any other run leaves them out.
//!
//! | file | concept |
//! |---|---|
//! | `haproxy` | a balancer that leads to any server, or cuts what is idle |
//! | `switched` | a balancer that is switched from a primary to its replica |
//! | `nutcracker` | a Redis proxy that knows scripts and commands with keys, and nothing else |
//! | `pgbouncer` | thousands of waits through a PostgreSQL pooler |
//! | `pgpool` | a balancer that has a session on the primary for each client, and names another server now and then |
//! | `sentinel` | a Redis master that is replaced by one of its replicas |
//! | `soak` | waits of all kinds through a PostgreSQL pooler, for an hour if need be |
//!
//! What the scheduler does behind pgpool2 is in its own tests. No other test may need one of these programs:
//! `rings::needs`.

mod haproxy;
mod nutcracker;
mod pgbouncer;
mod pgpool;
mod sentinel;
mod soak;
mod switched;
