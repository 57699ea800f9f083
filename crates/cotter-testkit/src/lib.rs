//! Holder processes, faults and the history checker that the tests share.

pub mod servers;
