//! The Redis store on real servers: faults, waiting, tokens, the older protocols, and the memory store as its oracle.

mod answers;
mod contention;
mod doctor;
mod election;
mod faults;
mod interop;
mod latch;
mod lost;
mod many;
mod missing;
mod multi;
mod older;
mod oracle;
mod outages;
mod outside;
mod process;
mod renewal;
mod replicated;
mod runtimes;
mod setup;
mod shares;
mod still;
mod tls;
mod tokens;
mod waiting;
mod watching;
