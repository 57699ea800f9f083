//! SQLite: what the contract's cases do not cover.
//!
//! | file | concept |
//! |---|---|
//! | `place` | a database for a test |
//! | `opening` | databases that cannot be used, and what the errors say |
//! | `links` | a database that is reached by more than one path |
//! | `namespaces` | databases below mounts |
//! | `rows` | rows that others left, deleted or wrote |
//! | `descriptors` | the file closed elsewhere, and children |
//! | `forked` | a process that uses a database and forks |
//! | `tokens` | the tokens of tickets |
//! | `trouble` | a locked database, a replaced one, clocks that are set |

mod descriptors;
mod forked;
mod links;
mod namespaces;
mod opening;
mod place;
mod rows;
mod tokens;
mod trouble;
