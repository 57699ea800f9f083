//! The workbench of the `cotter` command: `cotter bench` and `cotter demo`, with the drivers of the stores that they compare with.
//!
//! Both are arguments for clap, with a `run` of their own. They start further processes of the program that they are a part of,
//! with their own hidden arguments: a program that has them has to offer them under their names, `bench` and `demo`, together with
//! `--quiet`, and to take the store from `COTTER_URL`.
//!
//! | module | concept |
//! |---|---|
//! | `bench/` | measurements |
//! | `demo/` | demonstrations |
//! | `store` | the store that the command line has chosen |
//! | `sibling` | further processes of this program |
//! | `server_url` | what the URL of a store says to a driver |
//! | `bare_redis` | a direct connection to Redis |

#[cfg(feature = "redis")]
mod bare_redis;
mod bench;
mod demo;
mod server_url;
mod sibling;
mod store;

pub use bench::Bench;
pub use demo::Demo;
pub use store::Store;
