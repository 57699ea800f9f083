//! The Redis server in memory answers as a real one does: random commands, and whole runs of the simulation.

mod alike;
mod commands;
mod real;
mod runs;
