//! Locks in a server in memory: what differs from one server to another.

use super::plan::{Plan, What};
use super::run::TTL;
use super::steps::Steps;
use super::world::{Delete, MemberClock};
use crate::faulty::Faults;
use async_trait::async_trait;
use cotter::{Builder, Client, Result};
use rand::rngs::StdRng;
use std::time::Duration;

/// A way to keep locks in a server.
pub(super) trait Served {
    /// Starts a server, with a link from each process.
    fn start(&self, clock: MemberClock, links: Vec<Faults>) -> Box<dyn Running>;

    /// What happens to the server, beside being cut off.
    fn trouble(&self, rng: &mut StdRng) -> What;

    /// The lease of each lock, or the session with which it ends.
    fn lease(&self) -> Duration {
        TTL
    }

    /// For how long a name can be waited for that nobody holds, with this lease, from when nothing goes wrong any more.
    fn longest_idle(&self, lease: Duration) -> Duration;

    /// Whether nothing that is left behind is waited for as long as a long lease.
    fn heals_itself(&self) -> bool {
        false
    }

    /// Whether the tokens of different processes are in order.
    fn orders_tokens(&self) -> bool {
        true
    }

    /// Whether locks go on where every other answer is lost, with its connection. All requests of a process to etcd share one, and
    /// so do their losses.
    fn bears_losses(&self) -> bool {
        true
    }

    /// Whether names can be shared.
    fn has_readers(&self) -> bool;

    /// Whether names have permits.
    fn has_permits(&self) -> bool;
}

/// A server that was started.
#[async_trait]
pub(super) trait Running: Send + Sync {
    /// A client of one process.
    async fn client(&self, process: usize, builder: Builder) -> Result<Client>;

    /// It forgets its connections, and keeps what is on its disk.
    fn restart(&self);

    /// Something happens that is neither a restart nor a cut.
    fn befalls(&self, what: What);

    /// Deletes the lock with a name, where the line outlives that and its tokens do.
    fn delete(&self, plan: &Plan) -> Option<Delete>;

    /// Keeps what happens from now on.
    fn record(&self);

    /// What has happened since.
    fn recorded(&self) -> Steps;
}
