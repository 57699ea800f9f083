//! The runner in virtual time: everything happens in one runtime whose clock jumps to the next timer.

mod operators;
mod pool;
mod rates;
mod replicas;
mod world;
