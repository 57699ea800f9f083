//! An etcd server in memory: deterministic, in tokio's time, behind a real HTTP/2 and gRPC.
//!
//! It has what cotter uses of etcd 3.4, and answers as that does, errors included: random requests are given to it and to a real
//! server, and compared answer by answer (`tests/etcd_in_memory/`). What it lacks ends in `Unimplemented`.
//!
//! | file | concept |
//! |---|---|
//! | `server` | what a server has, and what happens to it |
//! | `carried` | when a request is carried out, if at all |
//! | `session`, `routes` | one connection to it; its requests |
//! | `messages`, `headers` | the messages of the protocol; what all answers have |
//! | `keys`, `requests`, `checks` | keys and revisions; requests about them; those that are wrong |
//! | `leases`, `keep_alive` | leases, and how they are kept alive |
//! | `watches`, `watching` | watches, and how they are asked for |
//! | `streams` | requests that are streams |
//! | `refusals` | errors |

mod carried;
mod checks;
mod headers;
mod keep_alive;
mod keys;
mod leases;
#[allow(missing_docs, reason = "as in the protocol")]
pub mod messages;
mod refusals;
mod requests;
mod routes;
mod server;
mod session;
mod streams;
mod watches;
mod watching;

pub use headers::Answer;
pub use server::Server;
pub use session::{Outgoing, Session};
