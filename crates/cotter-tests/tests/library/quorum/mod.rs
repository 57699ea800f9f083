//! A quorum of real Redis servers that fail one by one, and its memory of what it has granted.
//!
//! | file | concept |
//! |---|---|
//! | `setup` | servers behind proxies, and clients that know nothing of each other |
//! | `agreement` | how often members have to be asked until they agree on a token |
//! | `list` | clients that name different servers |
//! | `eviction` | taking a lock away at all members |
//! | `silence` | members that are gone or silent |
//! | `memory` | members that have forgotten what they granted |
//! | `swaps` | compare-and-set on notes |
//! | `others` | `mode=plain` beside other Redlock libraries |

mod agreement;
mod eviction;
mod list;
mod memory;
mod others;
mod setup;
mod silence;
mod swaps;
