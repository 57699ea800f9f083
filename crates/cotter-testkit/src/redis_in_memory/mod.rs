//! A Redis server in memory: deterministic, on any clock, with the real scripts in a real Lua 5.1.
//!
//! It has what cotter's modes use of Redis 7.0, and answers as that does, errors included: random commands and whole runs of the
//! simulation are compared with a real server, answer by answer and key by key (`tests/simulation/redis/`). What it lacks ends
//! in `unknown command`.
//!
//! | file | concept |
//! |---|---|
//! | `server` | what a server has, and how a request is carried out |
//! | `session` | one connection to it |
//! | `requests` | the requests in what was received |
//! | `reply` | answers |
//! | `keyspace` | keys, their values, and when they end |
//! | `command` | one command and its arguments |
//! | `keys`, `strings`, `hashes`, `lists`, `sorted_sets` | commands by what they are about |
//! | `scripts` | Lua scripts |
//! | `steps` | what has happened, step by step |

mod command;
mod hashes;
mod keys;
mod keyspace;
mod lists;
mod reply;
mod requests;
mod scripts;
mod server;
mod session;
mod sorted_sets;
mod steps;
mod strings;

pub use keyspace::{Found, Value};
pub use reply::Reply;
pub use server::{Outgoing, Server};
pub use session::Session;
pub use steps::Step;
