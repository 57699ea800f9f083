//! Distributed locks with fencing tokens and an honest loss signal.
