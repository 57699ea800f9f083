//! The line of a name: who holds it here, who asks the store for it, and who waits.
//!
//! | file | concept |
//! |---|---|
//! | `request` | a caller's request |
//! | `waiter` | a task that waits in the line |
//! | `queue` | the waiters of a line, in their order |
//! | `given` | what was given to tasks that may sleep, and whether that is watched |
//! | `state/` | the state of a line: every change says what has to follow it |
//! | `todo` | what has to follow a change |
//! | `lines`, `handle` | the lines of all names; one that is kept |
//! | `run` | changes a line, and does what has to follow |
//!
//! A state is changed through `run` only: nobody else can lock it for writing, and nobody else carries out a [`todo::Todo`].

mod given;
pub(crate) mod handle;
pub(crate) mod lines;
mod queue;
pub(crate) mod request;
pub(crate) mod run;
pub(crate) mod state;
#[cfg(test)]
mod tests;
pub(crate) mod todo;
pub(crate) mod waiter;
