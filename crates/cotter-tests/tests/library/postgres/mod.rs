//! The PostgreSQL store on real servers: refusals, faults, and what is particular to a database.

mod conflicts;
mod connections;
mod faults;
mod passwords;
mod places;
mod pooler;
mod refusals;
mod rows;
mod rules;
mod session_rules;
mod sessions;
mod settings;
pub(crate) mod setup;
mod shedlock;
mod silence;
mod splitter;
mod standbys;
mod tls;
mod waiting;
