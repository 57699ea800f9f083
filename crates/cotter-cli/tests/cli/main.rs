//! The `cotter` command as its users see it: started as a process, looked at from outside.

mod admin;
mod bench;
mod clear_orders;
mod config;
mod demo;
mod env;
mod flock;
mod generated;
mod jobs;
mod leased;
mod loss;
mod nested;
mod options;
mod orphans;
mod passwords;
mod programs;
mod readme;
mod running;
mod schedule;
mod secrets;
mod shared;
mod shim;
mod signals;
mod terminal;
mod usage;
mod waiting;
