//! The integration tests of the scheduler, as one program: linking one is much faster than linking one per file.
//!
//! | module | concept |
//! |---|---|
//! | `examples`, `quartz`, `naive` | when an expression fires: by hand, by Quartz itself, by an evaluator that goes second by second |
//! | `crontab` | lines of crontabs, also against the crate `croner` |
//! | `others` | the same as the crates `croner` and `cron` |
//! | `text`, `errors`, `fuzz` | what an expression is written as, what is refused, and what any text does |
//! | `seed` | the seed of tests that draw at random, and how long they go on |
//! | `adapters` | instants of date crates |
//! | `runner` | the runner in virtual time |
//! | `long_run` | the runner behind a real pooler, in the long run only |
//! | `refused`, `blocked` | jobs that cannot run, and work that never yields |

#[cfg(all(feature = "chrono", feature = "jiff"))]
mod adapters;
mod blocked;
mod crontab;
mod errors;
mod examples;
mod fuzz;
mod long_run;
mod naive;
mod others;
mod quartz;
mod refused;
mod runner;
mod seed;
mod text;
