//! The PostgreSQL store on real servers: refusals, faults, and what is particular to a database.

mod faults;
mod places;
mod refusals;
mod setup;
mod waiting;
