//! Servers behind proxies, and clients that know nothing of each other.

use cotter::backend::{Acquired, Backend, Claim, Connect, Grant, Host, Leave, Release, Until};
use cotter::{Result, quorum, redis};
use cotter_testkit::bare::{claim, clock, enlist};
use cotter_testkit::servers::{Proxy, Redis};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

pub(super) const PREFIX: &str = "cotter:quorum";
pub(super) const TTL: Duration = Duration::from_secs(30);

/// The members of a quorum, each behind a proxy.
pub(super) struct Members {
    pub(super) servers: Vec<Redis>,
    pub(super) proxies: Vec<Proxy>,
    pub(super) longest: Duration,
    timeout: Duration,
}

impl Members {
    /// Servers that vote at once.
    pub(super) fn voting(n: usize, longest: Duration, timeout: Duration) -> Self {
        let servers: Vec<_> = (0..n).map(|_| Redis::start()).collect();
        servers.iter().for_each(|server| enlist(server, PREFIX, longest.as_secs()));
        Self::of(servers, longest, timeout)
    }

    pub(super) fn of(servers: Vec<Redis>, longest: Duration, timeout: Duration) -> Self {
        let proxies = servers.iter().map(|server| Proxy::start(server.port())).collect();
        Self { servers, proxies, longest, timeout }
    }

    /// A client of its own, like another process.
    pub(super) async fn client(&self) -> Result<Arc<dyn Backend>> {
        self.client_of(0..self.proxies.len()).await
    }

    /// One that names only these.
    pub(super) async fn client_of(&self, members: Range<usize>) -> Result<Arc<dyn Backend>> {
        let options = format!("prefix={PREFIX}&connect_timeout=300ms");
        let member = |proxy: &Proxy| {
            redis::Store::from_url(proxy.redis_url(&options)).unwrap().with_votes(self.longest)
        };
        let store = quorum::Store::new(self.proxies[members].iter().map(member))?.with_timeout(self.timeout);
        store.connect(&Host::without_engine(clock())).await
    }

    /// From now on nothing gets through to this member, or everything again.
    pub(super) fn part(&self, member: usize, yes: bool) {
        self.proxies[member].freeze(yes);
    }

    /// Whether a member has granted the name to somebody.
    pub(super) fn holds(&self, member: usize, name: &str) -> bool {
        let state = self.servers[member].command(&["GET", &format!("{PREFIX}:{{{name}}}")]);
        let state = state.get(5..37).unwrap_or("-").to_owned();
        !state.starts_with('-')
    }
}

/// Tries once.
pub(super) async fn attempt(backend: &Arc<dyn Backend>, claim: &Claim) -> Result<Option<Grant>> {
    backend.acquire(claim, Until::Now).await.map(Acquired::granted)
}

/// Takes a name that is free, however often its members have to be asked.
pub(super) async fn acquire(backend: &Arc<dyn Backend>, name: &str) -> Grant {
    let until = Until::Moment(clock().now() + Duration::from_secs(20));
    let granted = backend.acquire(&claim(name, TTL.min(Duration::from_secs(1))), until).await.unwrap();
    granted.granted().expect("it is free")
}

pub(super) async fn release(backend: &Arc<dyn Backend>, grant: &Grant) -> Release {
    backend.release(&grant.claim, Leave::used(1)).await.unwrap()
}
