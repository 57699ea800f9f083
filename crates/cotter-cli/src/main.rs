//! The `cotter` command.

fn main() {}
