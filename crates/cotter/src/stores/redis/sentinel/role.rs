//! What a server says that it is.

use crate::Error;
use crate::error::config;
use redis::Value;

/// The answer to `ROLE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    Master,
    Replica {
        /// To its master.
        is_connected: bool,
    },
    Sentinel {
        services: Vec<String>,
    },
}

impl Role {
    pub(crate) fn parse(answer: Value) -> Option<Self> {
        let Value::Array(parts) = answer else { return None };
        let word =
            |n: usize| parts.get(n).and_then(|part| redis::from_redis_value::<String>(part.clone()).ok());
        match word(0)?.as_str() {
            "master" => Some(Self::Master),
            "slave" => Some(Self::Replica { is_connected: word(3)? == "connected" }),
            "sentinel" => {
                let services = parts.get(1).cloned().map(redis::from_redis_value);
                Some(Self::Sentinel {
                    services: services.and_then(std::result::Result::ok).unwrap_or_default(),
                })
            }
            _ => None,
        }
    }

    /// The error for a server that was to keep locks, if it is a sentinel.
    pub(crate) fn no_server(&self) -> Option<Error> {
        let Self::Sentinel { services } = self else { return None };
        let service = services.first().map_or("SERVICE", String::as_str);
        Some(config(format!(
            "this is a sentinel, which keeps no locks but knows where the master is: write redis+sentinel://HOST:26379/{service}, \
             with all sentinels in place of HOST:26379, separated by commas; it watches {services:?}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    #[test]
    fn roles() {
        let role = |parts: Vec<Value>| Role::parse(Value::Array(parts));
        assert_eq!(role(vec![text("master"), Value::Int(7), Value::Array(Vec::new())]), Some(Role::Master));
        for (link, is_connected) in [("connected", true), ("sync", false)] {
            let parts = vec![text("slave"), text("h"), Value::Int(1), text(link), Value::Int(7)];
            assert_eq!(role(parts), Some(Role::Replica { is_connected }));
        }
        let sentinel = role(vec![text("sentinel"), Value::Array(vec![text("orders")])]);
        assert_eq!(sentinel, Some(Role::Sentinel { services: vec!["orders".into()] }));
        assert_eq!(role(Vec::new()), None);
    }
}
