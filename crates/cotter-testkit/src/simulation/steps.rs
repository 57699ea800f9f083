//! What a server in memory has done in a run.

/// What a server in memory has done, if the run was replayed.
#[derive(Debug, Default)]
pub enum Steps {
    /// Nothing is known, or there is none.
    #[default]
    None,
    /// A Redis server.
    #[cfg(feature = "redis-in-memory")]
    Redis(Vec<crate::redis_in_memory::Step>),
    /// A ZooKeeper server.
    #[cfg(feature = "zookeeper-in-memory")]
    ZooKeeper(Vec<crate::zookeeper_in_memory::Step>),
}
