//! The options of a store, and their defaults.

use super::address::{Address, database};
use super::aliases::meaning;
use super::redisson::Recipe;
use super::socket::Server;
use crate::Result;
use crate::error::config;
use crate::stores::shared::net::{Certificates, Password, duration, in_our_words, pairs, split, word};
use std::time::Duration;

/// The protocol of a store; the option `mode=` of its URL.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// cotter's own protocol (`mode=native`): with fencing tokens, in order of arrival, handed over with one message.
    #[default]
    Native,
    /// `SET name value NX PX` and compare-and-delete (`mode=plain`), as used by most hand-written code and small
    /// libraries. The name of the lock is the key, unchanged. It excludes, and is excluded by, all other users of this
    /// protocol.
    ///
    /// There is no queue: waiters poll. Tokens are made by the client and order only the grants of this process.
    Plain,
    /// `SETNX` and `GETSET` of an expiry in milliseconds of the *client's* clock (`mode=getset`), for use beside code
    /// that does the same. The name of the lock is the key, unchanged. The protocol has flaws that one side cannot fix
    /// alone:
    ///
    /// 1. The clients' clocks decide whether a lock has expired. Where they differ, a lock is taken too early.
    /// 2. A client that loses the race for an expired lock has already overwritten the winner's expiry.
    /// 3. The value does not say who wrote it, so other code that releases late frees the lock of another client.
    ///    (cotter releases and renews only what it has written itself.)
    ///
    /// Each client logs them once, as a `tracing` warning.
    GetSet,
    /// That of Redisson, a library for Java (`mode=redisson`): the same keys, fields, channels and messages as its
    /// [`RLock`, `RFencedLock`, `RFairLock`, `RReadWriteLock` or `RPermitExpirableSemaphore`](Recipe), so that Java services and
    /// cotter exclude and wake each other. The name of the lock is the key, unchanged.
    ///
    /// Only the `RFairLock` has a queue. With the others, everybody who waits is told of a release, and the first to ask gets
    /// the lock. Tokens come from the counter of the `RFencedLock`, `redisson_lock_token:{name}`. They order the grants of
    /// cotter and of an `RFencedLock`; the other locks of Redisson draw none.
    Redisson,
}

/// The options of a store.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) protocol: Protocol,
    pub(super) instance: String,
    pub(super) prefix: String,
    pub(super) retain: Duration,
    pub(super) retry: Option<Duration>,
    pub(super) connect_timeout: Duration,
    pub(super) timeout: Duration,
    pub(super) client_name: String,
    pub(super) request_id: Option<String>,
    /// Which of Redisson's locks a name is.
    pub(super) recipe: Recipe,
    /// The number of replicas that must acknowledge each write.
    pub(super) replicas: u32,
    /// Sentinels say which server it is.
    pub(super) has_sentinels: bool,
    /// It is a cluster.
    pub(super) is_cluster: bool,
    /// The longest lease of the quorum that this server is a member of.
    pub(super) votes: Option<Duration>,
}

impl Options {
    pub(super) fn new(instance: String) -> Self {
        Self {
            protocol: Protocol::Native,
            instance,
            prefix: "cotter".into(),
            retain: Duration::from_secs(60),
            retry: None,
            connect_timeout: Duration::from_secs(2),
            timeout: Duration::from_secs(2),
            client_name: "cotter".into(),
            request_id: None,
            recipe: Recipe::default(),
            replicas: 0,
            has_sentinels: false,
            is_cluster: false,
            votes: None,
        }
    }
}

/// Parses a URL, and reads the files that it names.
pub(super) fn parse(url: &str) -> Result<(Server, Options)> {
    let (scheme, rest, query) = split(url)?;
    let query = in_our_words(url, query, meaning)?;
    let mut address = Address::parse(scheme, rest)?;
    let mut certificates = Certificates::default();
    let mut options = Options::new(String::new());
    let mut recipe = None;
    for pair in pairs(&query) {
        let (key, value) = pair?;
        match key {
            "ca" | "cert" | "key" => certificates.read(key, &value)?,
            "password_file" => address.password = Some(Password::in_file(&value)?),
            "sentinel_user" | "sentinel_password" | "sentinel_password_file" => {
                of_sentinels(&mut address, key, value)?;
            }
            "db" if !address.seeds.is_empty() => {
                return Err(config("db= is not for a cluster, which has no databases but 0"));
            }
            "db" => address.db = database(&value)?,
            "announce" => address.announced.add(&value)?,
            "recipe" => recipe = Some(Recipe::parse(&value)?),
            _ => options.set(key, value, scheme)?,
        }
    }
    if options.request_id.is_some() && options.protocol != Protocol::Plain {
        return Err(config("request_id= needs mode=plain"));
    }
    if recipe.is_some() && options.protocol != Protocol::Redisson {
        return Err(config("recipe= needs mode=redisson"));
    }
    options.recipe = recipe.unwrap_or_default();
    if !address.tls && !certificates.is_empty() {
        return Err(config(
            "ca=, cert= and key= need a URL that begins with rediss: (or rediss+sentinel:, rediss+cluster:)",
        ));
    }
    address.check_announced()?;
    options.instance = address.instance();
    options.has_sentinels = address.service.is_some();
    options.is_cluster = !address.seeds.is_empty();
    options.check_cluster()?;
    Ok((address.server(&certificates)?, options))
}

impl Options {
    /// On a cluster, Redisson tells of a release with SPUBLISH, which reaches nobody who has subscribed with SUBSCRIBE.
    pub(super) fn check_cluster(&self) -> Result<()> {
        if self.is_cluster && self.protocol == Protocol::Redisson {
            return Err(config(
                "mode=redisson does not work on a cluster: its releases are published on sharded channels there",
            ));
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: String, scheme: &str) -> Result<()> {
        match key {
            "mode" => self.protocol = protocol(&value)?,
            "prefix" => self.prefix = word(key, value)?,
            "retain" => self.retain = duration(key, &value)?,
            "retry" => self.retry = Some(duration(key, &value)?),
            "connect_timeout" => self.connect_timeout = duration(key, &value)?,
            "timeout" => self.timeout = duration(key, &value)?,
            "client_name" => self.client_name = word(key, value)?,
            "request_id" => self.request_id = Some(word(key, value)?),
            "replicas" => self.replicas = replicas(&value)?,
            _ => {
                let more = match scheme {
                    "redis+sentinel" | "rediss+sentinel" => {
                        ", announce, sentinel_user, sentinel_password, sentinel_password_file"
                    }
                    "redis+cluster" | "rediss+cluster" => ", announce",
                    _ => "",
                };
                return Err(config(format!("unknown option {key:?}; the options are {NAMES}{more}")));
            }
        }
        Ok(())
    }
}

const NAMES: &str = "mode, prefix, retain, retry, connect_timeout, timeout, ca, cert, key, client_name, \
    request_id, recipe, replicas, password_file, db";

/// The credentials of the sentinels, which are not those of the servers.
fn of_sentinels(address: &mut Address, key: &str, value: String) -> Result<()> {
    let Some(service) = &mut address.service else {
        return Err(config(format!(
            "{key}= needs a URL that begins with redis+sentinel: (or rediss+sentinel:)"
        )));
    };
    match key {
        "sentinel_user" => service.user = Some(value),
        "sentinel_password" => service.password = Some(Password::given(value)),
        _ => service.password = Some(Password::in_file(&value)?),
    }
    Ok(())
}

fn protocol(value: &str) -> Result<Protocol> {
    match value {
        "native" => Ok(Protocol::Native),
        "plain" => Ok(Protocol::Plain),
        "getset" => Ok(Protocol::GetSet),
        "redisson" => Ok(Protocol::Redisson),
        _ => Err(config(format!("unknown mode={value}; the modes are native, plain, getset and redisson"))),
    }
}

fn replicas(value: &str) -> Result<u32> {
    let why = "replicas= must be the number of replicas that acknowledge each write, such as 1";
    value.parse().map_err(|_| config(why))
}

#[cfg(test)]
mod tests;
