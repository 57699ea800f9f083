//! The two older protocols, `plain` and `getset`: there is no queue, and numbers are made here.
//!
//! | file | concept |
//! |---|---|
//! | `plain` | `SET NX PX`, compare-and-delete |
//! | `getset` | `SETNX` and `GETSET` of an expiry |
//! | `polling` | what both have in common: they poll, and their numbers are made here |
//! | `pace` | when to ask |
//! | `admin` | looking and evicting |

pub(super) mod admin;
pub(super) mod getset;
pub(super) mod pace;
pub(super) mod plain;
pub(super) mod polling;
