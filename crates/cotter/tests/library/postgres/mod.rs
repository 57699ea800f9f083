//! The PostgreSQL store on real servers: refusals, faults, and what is particular to a database.

mod connections;
mod faults;
mod places;
mod pooler;
mod refusals;
mod rules;
mod setup;
mod tls;
mod waiting;
