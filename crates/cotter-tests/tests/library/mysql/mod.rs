//! MySQL, as MariaDB speaks it: what the contract's cases do not cover.
//!
//! | file | concept |
//! |---|---|
//! | `setup` | what these tests share |
//! | `passwords` | passwords that an application gets from somewhere else |
//! | `places` | time zones, clocks, sockets, names of tables, and hostile text |
//! | `refusals` | what cannot work, and what the errors say |
//! | `rules` | the rules that a run may break unnoticed, each provoked |
//! | `faults` | sessions that end, servers that restart or stand still |
//! | `conflicts` | deadlocks, and statements that the server has undone |
//! | `dropped` | futures that are dropped while the server answers |
//! | `waiting` | in order, woken at once, and not behind the dead |
//! | `direct` | names that one process uses by itself |
//! | `connections` | how many connections a process has |
//! | `settings` | the settings of an application's own driver |
//! | `queue` | the server's own queues: in order, and nobody in them who has gone |
//! | `sessions`, `session_rules` | locks that live with a session; their rules, each provoked |
//! | `rows` | `mode=row` on tables of the user's own |
//! | `proxied` | behind a proxy that hands sessions around |
//! | `splitter` | behind something that sends reads to a replica |
//! | `replicas`, `demoted` | what doctor says about a failover; servers that become replicas |
//! | `shedlock` | `mode=shedlock` beside the real ShedLock |
//! | `tls` | `sslmode=verify-full` |

mod conflicts;
mod connections;
mod demoted;
mod direct;
mod dropped;
mod faults;
mod passwords;
mod places;
mod proxied;
mod queue;
mod refusals;
mod replicas;
mod rows;
mod rules;
mod session_rules;
mod sessions;
mod settings;
pub(crate) mod setup;
mod shedlock;
mod splitter;
mod tls;
mod waiting;
