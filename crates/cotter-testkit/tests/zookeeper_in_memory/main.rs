//! The ZooKeeper server in memory answers as a real one does: random requests, and whole runs of the simulation.

mod asked;
mod requests;
mod runs;
mod shown;
