//! Messages as text, without what differs between two servers: times, and the numbers of sessions.

use cotter_testkit::zookeeper_in_memory::Reader;
use std::collections::HashMap;

/// What one server calls what the other one has as well.
#[derive(Default)]
pub(crate) struct Names {
    /// The sessions, in their order.
    pub(crate) sessions: HashMap<i64, usize>,
    /// So many transactions are not of the other one.
    pub(crate) ahead: i64,
}

const EVENT: i32 = -1;

impl Names {
    /// The answer to the first message, which may begin a session. With id and password.
    pub(crate) fn welcome(&mut self, message: &[u8]) -> (String, i64, Vec<u8>) {
        let mut from = Reader(message);
        let (version, timeout) = (from.int().unwrap(), from.int().unwrap());
        let (id, password) = (from.long().unwrap(), from.bytes().unwrap().to_vec());
        if id != 0 {
            let next = self.sessions.len();
            self.sessions.entry(id).or_insert(next);
        }
        let length = password.len();
        let text = format!("{version} {timeout} {} {length} {:?}", self.owner(id), from.flag());
        (text, id, password)
    }

    fn owner(&self, id: i64) -> String {
        match id {
            0 => "nobody".to_owned(),
            id => format!("{:?}", self.sessions.get(&id)),
        }
    }

    /// The answer to a request with this code, or an event.
    pub(crate) fn message(&self, code: i32, message: &[u8]) -> String {
        let mut from = Reader(message);
        let (xid, zxid, error) = (from.int().unwrap(), from.long().unwrap(), from.int().unwrap());
        let body = match (xid, error) {
            (EVENT, _) => {
                format!("event {:?} {:?} {:?}", from.int(), from.int(), from.text())
            }
            (_, 0) => self.body(code, &mut from),
            _ => String::new(),
        };
        assert!(from.0.is_empty(), "{} bytes are left behind {body}", from.0.len());
        format!("{xid} {} {error} {body}", self.transaction(zxid))
    }

    fn body(&self, code: i32, from: &mut Reader<'_>) -> String {
        match code {
            1 | 9 => format!("{:?}", from.text()),
            15 | 19 => format!("{:?} {}", from.text(), self.stat(from)),
            3 | 5 => self.stat(from),
            4 => format!("{:?} {}", from.bytes(), self.stat(from)),
            8 => {
                let count = from.int().unwrap();
                let mut names: Vec<_> = (0..count).map(|_| from.text().unwrap()).collect();
                names.sort();
                format!("{names:?}")
            }
            14 => self.results(from),
            _ => String::new(),
        }
    }

    fn results(&self, from: &mut Reader<'_>) -> String {
        let mut text = String::new();
        loop {
            let (code, is_end, error) = (from.int().unwrap(), from.flag().unwrap(), from.int().unwrap());
            text += &format!("[{code} {is_end} {error}");
            if is_end {
                return text + "]";
            }
            text += &match code {
                -1 => format!(" {:?}]", from.int()),
                code => format!(" {}]", self.body(code, from)),
            };
        }
    }

    fn transaction(&self, zxid: i64) -> i64 {
        if zxid > 0 { zxid - self.ahead } else { zxid }
    }

    fn stat(&self, from: &mut Reader<'_>) -> String {
        let zxid = |from: &mut Reader<'_>| self.transaction(from.long().unwrap());
        let (created, modified) = (zxid(from), zxid(from));
        let _times = (from.long(), from.long());
        let versions = (from.int(), from.int(), from.int());
        let owner = self.owner(from.long().unwrap());
        let (length, children, family) = (from.int(), from.int(), zxid(from));
        format!("{created} {modified} {versions:?} {owner} {length:?} {children:?} {family}")
    }
}
