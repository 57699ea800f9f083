//! With every rule in force nothing is found.
