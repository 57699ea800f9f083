//! Serialization of instants as nanoseconds since 1970, which is short: a note is written twice for each run.

use crate::UnixTime;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const NANOS: i64 = 1_000_000_000;

pub(super) fn nanos(time: UnixTime) -> i64 {
    time.seconds().saturating_mul(NANOS).saturating_add(time.subsec_nanos().into())
}

pub(super) fn time(nanos: i64) -> UnixTime {
    UnixTime::new(nanos.div_euclid(NANOS), nanos.rem_euclid(NANOS) as u32)
}

pub(super) fn serialize<S: Serializer>(at: &UnixTime, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_i64(nanos(*at))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<UnixTime, D::Error> {
    i64::deserialize(from).map(time)
}

/// The same for optional instants.
pub(super) mod maybe {
    use super::*;

    pub(in crate::notes) fn serialize<S: Serializer>(
        at: &Option<UnixTime>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(nanos).serialize(to)
    }

    pub(in crate::notes) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<UnixTime>, D::Error> {
        Ok(Option::<i64>::deserialize(from)?.map(time))
    }
}

/// The same for instants by name.
pub(super) mod by_name {
    use super::*;
    use std::collections::BTreeMap;

    pub(in crate::notes) fn serialize<S: Serializer>(
        all: &BTreeMap<String, UnixTime>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(all.iter().map(|(name, at)| (name, nanos(*at))))
    }

    pub(in crate::notes) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<String, UnixTime>, D::Error> {
        let all = BTreeMap::<String, i64>::deserialize(from)?;
        Ok(all.into_iter().map(|(name, at)| (name, time(at))).collect())
    }
}
