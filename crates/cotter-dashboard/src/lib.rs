//! `cotter dashboard`: the locks and the jobs of a store in a browser.
//!
//! The command is arguments for clap, with a `run` of its own. It changes nothing unless it is told to let others.
//!
//! | module | concept |
//! |---|---|
//! | `args` | the arguments |
//! | `recent` | what was last heard of the store, asked for once for all who look |
//! | `listing` | what the store holds |
//! | `changes` | what has changed from one listing to the next |
//! | `groups`, `histories` | the jobs of the groups that were named; their last runs |
//! | `table` | the locks as lines: which ones, in which order |
//! | `pages`, `job_pages`, `job_page` | the pages, from the templates in `templates/` |
//! | `door`, `key_file` | who may change something: whoever has the key |
//! | `actions/` | what may be changed |
//! | `server`, `live` | addresses; pages that go on by themselves |
//! | `shield` | whose requests are answered, and what a browser may do with the answers |

mod actions;
mod args;
mod changes;
mod door;
mod groups;
mod histories;
mod job_page;
mod job_pages;
mod key_file;
mod listing;
mod live;
mod pages;
mod recent;
mod server;
mod shield;
mod table;

pub use args::Dashboard;
