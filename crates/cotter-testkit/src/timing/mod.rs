//! Bounds in real time, for which a busy machine is no excuse and no fault.
//!
//! A test that has to compare real time does it with a [`Stopwatch`], which allows for how busy the machine was meanwhile. A test
//! that only has to see something happen waits for it with [`eventually`], [`until`] or [`happens`], whose end is far away. Where order, a
//! count or virtual time tells two behaviours apart, they are better than all of these.
//!
//! | file | concept |
//! |---|---|
//! | `machine` | how busy the machine is |
//! | `stopwatch` | a bound in real time |
//! | `waiting` | until something has happened |

mod machine;
mod stopwatch;
mod waiting;

pub use machine::{Busy, watch_the_machine};
pub use stopwatch::Stopwatch;
pub use waiting::{FAR, eventually, first_within, happens, until};
