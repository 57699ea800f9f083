//! Models of cotter's protocols, in `tests/models`. A crate of their own because they are compiled with optimisation: they walk
//! through millions of states.
