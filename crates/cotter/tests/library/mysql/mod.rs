//! MySQL, as MariaDB speaks it: what the contract's cases do not cover.
//!
//! | file | concept |
//! |---|---|
//! | `setup` | what these tests share |
//! | `places` | time zones, clocks, sockets, names of tables, and hostile text |
//! | `refusals` | what cannot work, and what the errors say |
//! | `rules` | the rules that a run may break unnoticed, each provoked |
//! | `faults` | sessions that end, servers that restart or stand still |
//! | `dropped` | futures that are dropped while the server answers |
//! | `waiting` | in order, woken at once, and not behind the dead |
//! | `connections` | how many connections a process has |
//! | `tls` | `sslmode=verify-full` |

mod connections;
mod direct;
mod dropped;
mod faults;
mod places;
mod refusals;
mod rules;
mod setup;
mod tls;
mod waiting;
