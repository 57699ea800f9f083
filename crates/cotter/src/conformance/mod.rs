//! The cases that every backend must pass.
