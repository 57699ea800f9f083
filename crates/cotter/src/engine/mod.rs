//! Waiting, retries, renewal and clean-up, implemented once for all stores.
//!
//! | file | concept |
//! |---|---|
//! | `thread` | the engine's own thread and runtime |
//! | `core`, `close` | the state shared by all handles of one client, and its end |
//! | `line/` | the line of a name: its state, and what has to follow a change of it |
//! | `queue/` | the steps of a task until it has the lock |
//! | `grant/` | the life of a grant: renewal, loss, release |
//! | `route`, `runtimes` | which connection carries a request; the connection of a runtime |
//! | `loads` | reading many notes at once |
//! | `background` | work that outlives its callers |
//! | `tasks` | tasks that backends run on the engine |
//! | `pulse` | liveness of the store |
//! | `patience` | repeating what the store fails to answer |
//! | `drift` | clocks that run at different rates |
//! | `report/` | events for observers and for `tracing`, told on other threads |
//! | `timing` | all durations |
//! | `block` | blocking waits on threads |

mod background;
mod block;
mod close;
mod core;
mod drift;
mod grant;
mod line;
mod loads;
mod patience;
mod pulse;
mod queue;
mod report;
mod route;
mod runtimes;
mod tasks;
mod thread;
pub(crate) mod timing;

pub(crate) use self::core::{Core, Settings};
pub(crate) use background::in_background;
pub(crate) use block::{block_on, may_block};
pub(crate) use drift::Drift;
pub(crate) use grant::downgrade::downgrade;
pub(crate) use grant::give_back::{Returned, forget, give_back};
pub(crate) use grant::hold::Hold;
pub(crate) use grant::ticket::{extend_ticket, release_ticket, resume};
pub(crate) use line::handle::Handle;
pub(crate) use line::request::{Request, Wait};
pub(crate) use loads::load_notes;
pub(crate) use patience::Patience;
pub(crate) use queue::acquire::acquire;
pub(crate) use queue::resize::resize;
pub(crate) use report::{Observer, Observers};
pub(crate) use route::crashed;
#[cfg(feature = "conformance")]
pub(crate) use tasks::Tasks;
pub(crate) use thread::Engine;
