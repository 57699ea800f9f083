//! Tokens in JSON and other formats (feature `serde`).
//!
//! A token is written as a string, because JavaScript rounds large numbers; a number is read as well. The other types
//! derive their representation: names as strings, enums in `snake_case`, durations and times as serde writes them.

use crate::FencingToken;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

impl Serialize for FencingToken {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FencingToken {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // A compact format does not say what comes next.
        if from.is_human_readable() { from.deserialize_any(Token) } else { from.deserialize_str(Token) }
    }
}

struct Token;

impl Visitor<'_> for Token {
    type Value = FencingToken;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fencing token, as a string or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<FencingToken, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<FencingToken, E> {
        Ok(number.into())
    }

    /// Some formats, TOML for one, have only signed numbers.
    fn visit_i64<E: Error>(self, number: i64) -> Result<FencingToken, E> {
        u64::try_from(number).map(FencingToken::from).map_err(E::custom)
    }
}
