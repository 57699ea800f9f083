//! The runner in virtual time: everything happens in one runtime whose clock jumps to the next timer.

mod calendars;
mod clocks;
mod definitions;
mod ends;
mod histories;
mod hosts;
mod labels;
mod lapses;
mod limits;
mod notes;
mod odd_moments;
mod one_shots;
mod operators;
mod orphans;
mod outages;
mod pauses;
mod policies;
mod pool;
mod rates;
mod replicas;
mod requested;
mod requests;
mod retries;
mod stops;
mod waits;
mod world;
