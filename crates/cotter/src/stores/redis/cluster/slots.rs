//! The slot of a key, and which master has which slots.

use super::super::errors::unexpected;
use crate::Result;
use crate::stores::shared::net::HostPort;
use redis::Value;

const SLOTS: u16 = 16_384;

/// The slot of a key: that of what stands between its first brace and the next closing one, if there is anything.
pub(super) fn slot(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    crc16(tag.filter(|tag| !tag.is_empty()).unwrap_or(key).as_bytes()) % SLOTS
}

/// As Redis computes it: XMODEM, with the polynomial 1021.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

const TABLE: [u16; 256] = {
    let (mut table, mut i) = ([0; 256], 0);
    while i < 256 {
        let (mut crc, mut bit) = ((i as u16) << 8, 0);
        while bit < 8 {
            crc = (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

/// Slots that follow each other, and who has them.
#[derive(Debug, Clone)]
pub(super) struct Range {
    first: u16,
    last: u16,
    pub(super) master: HostPort,
    pub(super) replicas: usize,
}

/// Which master has which slots, in the order of the slots.
#[derive(Debug, Clone)]
pub(super) struct SlotMap(Vec<Range>);

impl SlotMap {
    /// Parses the answer of a node to `CLUSTER SLOTS`. `reach`: where to connect to a node that it names.
    pub(super) fn parse(answer: Value, reach: impl Fn(&str, u16) -> HostPort) -> Result<Self> {
        let Value::Array(ranges) = answer else { return Err(unexpected("no list of slots")) };
        let mut ranges = ranges
            .into_iter()
            .map(|range| {
                parse_range(range, &reach).ok_or_else(|| unexpected("a range of slots that is none"))
            })
            .collect::<Result<Vec<_>>>()?;
        ranges.sort_by_key(|range| range.first);
        match ranges.is_sorted_by(|one, next| one.last < next.first) {
            true => Ok(Self(ranges)),
            false => Err(unexpected("a slot with two masters")),
        }
    }

    /// The master of a slot; `None` if nobody has it.
    pub(super) fn master(&self, slot: u16) -> Option<&HostPort> {
        let behind = self.0.partition_point(|range| range.first <= slot);
        self.0[..behind].last().filter(|range| slot <= range.last).map(|range| &range.master)
    }

    /// Who has which slots.
    pub(super) fn ranges(&self) -> &[Range] {
        &self.0
    }

    /// How many slots nobody has.
    pub(super) fn missing(&self) -> u16 {
        SLOTS - self.0.iter().map(|range| range.last - range.first + 1).sum::<u16>()
    }
}

fn parse_range(range: Value, reach: impl Fn(&str, u16) -> HostPort) -> Option<Range> {
    let Value::Array(fields) = range else { return None };
    let mut fields = fields.into_iter();
    let mut bound = || match fields.next()? {
        Value::Int(slot) => u16::try_from(slot).ok().filter(|slot| *slot < SLOTS),
        _ => None,
    };
    let (first, last) = (bound()?, bound()?);
    let Value::Array(node) = fields.next()? else { return None };
    let mut node = node.into_iter();
    let host = match node.next()? {
        Value::BulkString(host) => String::from_utf8(host).ok()?,
        Value::SimpleString(host) => host,
        Value::Nil => String::new(),
        _ => return None,
    };
    let Value::Int(port) = node.next()? else { return None };
    let master = reach(&host, u16::try_from(port).ok()?);
    (first <= last).then_some(Range { first, last, master, replicas: fields.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slots_of_keys() {
        // As `CLUSTER KEYSLOT` says.
        for (key, expected) in [("a", 15495), ("b", 3300), ("123456789", 12739), ("", 0)] {
            assert_eq!(slot(key), expected, "{key}");
        }
        assert_eq!(slot("cotter:{b}:q"), slot("b"));
        assert_eq!(slot("{}b"), crc16(b"{}b") % SLOTS, "an empty tag is none");
        assert_eq!(slot("x{b}{a}"), slot("b"));
        assert_eq!(slot("x{b"), crc16(b"x{b") % SLOTS);
    }

    fn node(host: &str, port: i64) -> Value {
        Value::Array(vec![Value::BulkString(host.into()), Value::Int(port), Value::BulkString("id".into())])
    }

    #[test]
    fn a_map_of_slots() {
        let range = |first, last, nodes: &[Value]| {
            Value::Array([&[Value::Int(first), Value::Int(last)][..], nodes].concat())
        };
        let said = vec![range(101, 200, &[node("h", 2), node("h", 3)]), range(0, 99, &[node("", 1)])];
        let reach = |host: &str, port| HostPort::new(if host.is_empty() { "asked" } else { host }, port);
        let map = SlotMap::parse(Value::Array(said), reach).unwrap();
        let master = |slot| map.master(slot).map(HostPort::to_string);
        assert_eq!(master(0).as_deref(), Some("asked:1"));
        assert_eq!(master(99).as_deref(), Some("asked:1"));
        assert_eq!([master(100), master(201)], [None, None]);
        assert_eq!(master(200).as_deref(), Some("h:2"));
        assert_eq!((map.missing(), map.ranges()[1].replicas), (SLOTS - 200, 1));
        let backwards = vec![range(5, 4, &[node("h", 1)])];
        let twice = vec![range(0, 16383, &[node("h", 1)]), range(7, 16383, &[node("h", 2)])];
        for wrong in [backwards, twice] {
            assert!(SlotMap::parse(Value::Array(wrong), reach).is_err());
        }
    }
}
