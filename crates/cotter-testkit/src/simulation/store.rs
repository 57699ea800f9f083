//! What the locks of a run are in.

#[cfg(feature = "etcd-in-memory")]
use super::etcd::InEtcd;
#[cfg(feature = "redis-in-memory")]
use super::redis::RedisMode;
use super::run::TTL;
use super::served::Served;
#[cfg(feature = "zookeeper-in-memory")]
use super::zookeeper::ZooKeeperDialect;
use std::fmt;
use std::time::Duration;

/// What the locks are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// A store in memory, or a quorum of several.
    Members,
    /// A Redis server in memory, and the real client over a network that is simulated.
    #[cfg(feature = "redis-in-memory")]
    Redis(RedisMode),
    /// A ZooKeeper server in memory, and the real client over a network that is simulated.
    #[cfg(feature = "zookeeper-in-memory")]
    ZooKeeper(ZooKeeperDialect),
    /// An etcd server in memory, and the real client over the same network.
    #[cfg(feature = "etcd-in-memory")]
    Etcd,
    /// The same, where a member may be behind the others.
    #[cfg(feature = "etcd-in-memory")]
    EtcdBehind,
}

impl Store {
    /// All of them, by name.
    #[must_use]
    pub fn all() -> Vec<(String, Self)> {
        let all = std::iter::once(("quorum", Self::Members));
        #[cfg(feature = "redis-in-memory")]
        let all = all.chain(RedisMode::all().map(|(mode, name)| (name, Self::Redis(mode))));
        #[cfg(feature = "zookeeper-in-memory")]
        let all = all.chain(ZooKeeperDialect::all().map(|(dialect, name)| (name, Self::ZooKeeper(dialect))));
        #[cfg(feature = "etcd-in-memory")]
        let all = all.chain([("etcd", Self::Etcd), ("etcd-behind", Self::EtcdBehind)]);
        all.map(|(name, store)| (name.to_owned(), store)).collect()
    }

    /// The store of this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::all().into_iter().find(|(name, _)| name == text).map(|(_, store)| store)
    }

    /// What is special about it, if it is a server.
    pub(super) fn served(&self) -> Option<&dyn Served> {
        match self {
            Self::Members => None,
            #[cfg(feature = "redis-in-memory")]
            Self::Redis(mode) => Some(mode),
            #[cfg(feature = "zookeeper-in-memory")]
            Self::ZooKeeper(dialect) => Some(dialect),
            #[cfg(feature = "etcd-in-memory")]
            Self::Etcd => Some(&InEtcd { may_be_behind: false }),
            #[cfg(feature = "etcd-in-memory")]
            Self::EtcdBehind => Some(&InEtcd { may_be_behind: true }),
        }
    }

    /// Whether the tokens of different processes are in order.
    pub(super) fn orders_tokens(self) -> bool {
        self.served().is_none_or(Served::orders_tokens)
    }

    /// Whether nothing that is left behind is waited for as long as a long lease.
    pub(super) fn heals_itself(self) -> bool {
        self.served().is_some_and(Served::heals_itself)
    }

    /// The lease of each lock, or the session with which it ends.
    pub(super) fn lease(self) -> Duration {
        self.served().map_or(TTL, Served::lease)
    }

    /// For how long a name can be waited for that nobody holds, with this lease, from when nothing goes wrong any more.
    pub(super) fn longest_idle(self, lease: Duration) -> Duration {
        self.served().map_or(Duration::from_secs(10), |served| served.longest_idle(lease))
    }

    /// Whether names can be shared.
    pub(super) fn has_readers(self) -> bool {
        self.served().is_none_or(Served::has_readers)
    }

    /// Whether names have permits, if there are so many members.
    pub(super) fn has_permits(self, members: usize) -> bool {
        self.served().map_or(members == 1, Served::has_permits)
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = Self::all();
        f.write_str(all.iter().find(|(_, store)| store == self).map_or("", |(name, _)| name))
    }
}
