//! Serialization of instants as RFC 3339, so that notes are readable.

use crate::UnixTime;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<S: Serializer>(time: &UnixTime, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(time)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<UnixTime, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

/// The same for optional instants.
pub(super) mod maybe {
    use super::*;

    pub(in crate::notes) fn serialize<S: Serializer>(
        time: &Option<UnixTime>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|t| t.to_string()).serialize(to)
    }

    pub(in crate::notes) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<UnixTime>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|t| t.parse().map_err(D::Error::custom)).transpose()
    }
}
