//! Random changes of a line, without a runtime: whatever happens in whatever order, nobody is forgotten.
//!
//! | file | concept |
//! |---|---|
//! | `world` | tasks, an engine and a store around one line; carries out what a change returns |
//! | `store` | a store with one name, and holds that need no store |
//! | `events` | what may happen next, and what a task does |
//! | `engine` | what the engine does next, and what the store answers it |
//! | `rules` | what holds after every event |

#![allow(clippy::arc_with_non_send_sync, reason = "a line counts by `Arc`, and here is one thread")]

mod engine;
mod events;
mod rules;
mod store;
mod world;

use world::World;

const SEEDS: u64 = 2_000;
const EVENTS: usize = 150;

#[test]
fn whatever_happens_nobody_is_forgotten() {
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        for _ in 0..EVENTS {
            world.event();
            world.check();
        }
        world.settle();
    }
}

/// It would prove nothing if the seeds did not get to it.
#[test]
fn every_kind_of_event_happens() {
    let mut met = store::Met::default();
    for seed in 0..SEEDS / 10 {
        let mut world = World::new(seed);
        for _ in 0..EVENTS {
            world.event();
        }
        met.add(&world.met);
    }
    met.demand_all();
}
