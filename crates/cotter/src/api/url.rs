//! From a URL to a store.

#[cfg(feature = "redis")]
mod redlock;
mod scheme;

use crate::backend::Connect;
use crate::error::config;
use crate::{Result, stores::memory};
use std::sync::Arc;

/// Which store a URL means. Says which part is wrong; the rest of the URL is not repeated, it may hold a password.
pub(crate) fn parse(url: &str) -> Result<Arc<dyn Connect>> {
    let url = &*scheme::canonical(url);
    let Some((scheme, rest)) = url.split_once(':').filter(|(scheme, rest)| is_scheme(scheme, rest)) else {
        return Err(config(format!("the store URL has no scheme; {}", known())));
    };
    match scheme {
        "memory" => memory(rest),
        #[cfg(feature = "file")]
        "file" => Ok(Arc::new(crate::stores::file::Store::from_url(rest)?)),
        #[cfg(feature = "file")]
        "flock" => Ok(Arc::new(crate::stores::file::Flock::from_url(rest)?)),
        #[cfg(feature = "redis")]
        "redis" | "rediss" | "redis+sentinel" | "rediss+sentinel" | "redis+cluster" | "rediss+cluster"
        | "unix" => Ok(Arc::new(crate::stores::redis::Store::from_url(url)?)),
        #[cfg(feature = "etcd")]
        "etcd" => Ok(Arc::new(crate::stores::etcd::Store::from_url(url)?)),
        #[cfg(feature = "zookeeper")]
        "zookeeper" => Ok(Arc::new(crate::stores::zookeeper::Store::from_url(url)?)),
        #[cfg(feature = "redis")]
        "redlock" | "redlocks" => Ok(Arc::new(redlock::parse(scheme, rest)?)),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Ok(Arc::new(crate::stores::mysql::Store::from_url(url)?)),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Ok(Arc::new(crate::stores::postgres::Store::from_url(url)?)),
        #[cfg(all(feature = "sqlite", unix))]
        "sqlite" => Ok(Arc::new(crate::stores::sqlite::Store::from_url(rest)?)),
        _ => Err(config(match left_out(scheme) {
            Some((what, feature)) => {
                format!("this build does not support {what}; rebuild it with the feature {feature}")
            }
            None => format!("unknown scheme {scheme:?} in the store URL; {}", known()),
        })),
    }
}

/// Whether a URL begins with a scheme, and not with a user name or a password.
fn is_scheme(scheme: &str, rest: &str) -> bool {
    let is_sign = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-');
    scheme.bytes().all(is_sign) && (rest.starts_with('/') || !rest.contains('@'))
}

/// A store that this build is without, and the feature that it needs.
fn left_out(scheme: &str) -> Option<(&'static str, &'static str)> {
    Some(match scheme {
        "file" | "flock" => ("locks in files", "file"),
        "redis" | "rediss" | "redis+sentinel" | "rediss+sentinel" | "redis+cluster" | "rediss+cluster"
        | "unix" | "redlock" | "redlocks" => ("Redis", "redis"),
        "etcd" => ("etcd", "etcd"),
        "zookeeper" => ("ZooKeeper", "zookeeper"),
        "mysql" | "mariadb" => ("MySQL and MariaDB", "mysql"),
        "postgres" | "postgresql" => ("PostgreSQL", "postgres"),
        "sqlite" if cfg!(unix) => ("SQLite", "sqlite"),
        _ => return None,
    })
}

/// Examples of what this build knows.
fn known() -> String {
    let mut known = vec!["memory:"];
    known.extend(cfg!(feature = "file").then_some(["file:///DIR", "flock:/PATH"]).into_iter().flatten());
    let redis = [
        "redis://HOST",
        "redis+sentinel://HOST,HOST,HOST/SERVICE",
        "redis+cluster://HOST,HOST,HOST",
        "redlock://HOST,HOST,HOST",
    ];
    known.extend(cfg!(feature = "redis").then_some(redis).into_iter().flatten());
    known.extend(cfg!(feature = "etcd").then_some("etcd://HOST"));
    known.extend(cfg!(feature = "zookeeper").then_some("zookeeper://HOST"));
    known.extend(cfg!(feature = "mysql").then_some("mysql://HOST/DATABASE"));
    known.extend(cfg!(feature = "postgres").then_some("postgres://HOST/DATABASE"));
    known.extend(cfg!(all(feature = "sqlite", unix)).then_some("sqlite:///PATH"));
    let last = known.pop().unwrap_or_default();
    if known.is_empty() { format!("try {last}") } else { format!("try {} or {last}", known.join(", ")) }
}

fn memory(rest: &str) -> Result<Arc<dyn Connect>> {
    if !rest.is_empty() {
        return Err(config("memory: takes nothing after the colon; write just memory:"));
    }
    Ok(Arc::new(memory::Store::new()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_of_connect_has_every_store() {
        let source = include_str!("client.rs");
        for url in super::known().trim_start_matches("try ").split([',', ' ']).filter(|url| url.contains(':'))
        {
            let (scheme, _) = url.split_once(':').unwrap();
            assert!(
                source.contains(&format!("/// | `{scheme}:")),
                "{scheme} is not in the table of Client::connect"
            );
        }
    }
}
