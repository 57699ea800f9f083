//! A throw-away sketch: a majority over independent Redis servers, as an outside crate.

pub mod member;
pub mod quorum;
pub mod race;
pub mod servers;
