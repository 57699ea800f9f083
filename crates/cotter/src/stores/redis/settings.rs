//! Setting the options of a store in code.

use super::options::{Options, Protocol};
use super::{Recipe, Shared, Store};
use crate::Result;
use crate::stores::shared::net::{Password, Tls, clamp, word};
use std::time::Duration;

/// The time for which a counter of a quorum is kept at least. After that, it begins at the server's clock: later than any
/// token, as long as no clock of a member differs by as much.
const COUNTER_LASTS: Duration = Duration::from_secs(86_400);

/// The options of [`from_url`](Store::from_url), for stores that are created in other ways. Each method returns a new
/// store that shares no state with the one before. Durations are limited to the range from a millisecond to a year.
impl Store {
    /// Sets the protocol; `mode` in a URL.
    #[must_use]
    pub fn with_protocol(self, protocol: Protocol) -> Self {
        self.with(|options| options.protocol = protocol)
    }

    /// Sets which of Redisson's locks a name is, with [`Protocol::Redisson`]; `recipe` in a URL.
    #[must_use]
    pub fn with_recipe(self, recipe: Recipe) -> Self {
        self.with(|options| options.recipe = recipe)
    }

    /// Sets the prefix of native keys and channels; `prefix` in a URL. Only clients with the same prefix see each other's
    /// locks.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the prefix is empty, longer than 128 bytes, or contains blanks,
    /// braces, percent signs or control characters.
    pub fn with_prefix(self, prefix: impl Into<String>) -> Result<Self> {
        let prefix = word("prefix", prefix.into())?;
        Ok(self.with(|options| options.prefix = prefix))
    }

    /// Sets how long the server remembers a name after its last release; `retain` in a URL.
    #[must_use]
    pub fn with_retain(self, retain: Duration) -> Self {
        self.with(|options| options.retain = clamp(retain))
    }

    /// Sets the pause between two attempts of a waiter in `plain` and `getset`; `retry` in a URL.
    #[must_use]
    pub fn with_retry(self, retry: Duration) -> Self {
        self.with(|options| options.retry = Some(clamp(retry)))
    }

    /// Sets the name that `CLIENT LIST` shows; `client_name` in a URL.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the name is empty, longer than 128 bytes, or contains blanks, braces,
    /// percent signs or control characters.
    pub fn with_client_name(self, name: impl Into<String>) -> Result<Self> {
        let name = word("client_name", name.into())?;
        Ok(self.with(|options| options.client_name = name))
    }

    /// Sets the time limit for opening a connection; `connect_timeout` in a URL.
    #[must_use]
    pub fn with_connect_timeout(self, timeout: Duration) -> Self {
        self.with(|options| options.connect_timeout = clamp(timeout))
    }

    /// Sets the time limit for the answer to a request; `timeout` in a URL.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.with(|options| options.timeout = clamp(timeout))
    }

    /// Asks this callback for the password each time a connection is opened, instead of using that of the URL: for tokens that expire
    /// after some minutes, and for secrets that are no files. The user is that of the URL, which then needs no password:
    /// `redis://app@cache.internal`. Sentinels have credentials of [their own](Self::with_sentinel_password_from).
    ///
    /// Each call has a thread of its own and a runtime of tokio with timers and sockets, so it may await and block. After
    /// [the time for a connection](Self::with_connect_timeout), nobody waits for it any more, and its future is dropped. Until it
    /// has answered, what needs the connection waits as in an outage.
    ///
    /// A connection stays logged in when its token expires or the user's password is changed, unless the server ends it: only
    /// new connections need the new one. Amazon ElastiCache ends those of IAM users after 12 hours; another one replaces them.
    ///
    /// # Errors
    /// Connecting fails with [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable), which may be tried again, if the callback
    /// fails, panics, is late, or returns an empty password. The error has the text of that of the callback and of its causes,
    /// in which the last password is replaced by `***`.
    ///
    /// ```no_run
    /// # async fn token() -> std::io::Result<String> { Ok(String::new()) }
    /// # fn main() -> cotter::Result<()> {
    /// use cotter::redis::Store;
    ///
    /// let store = Store::from_url("rediss://app@cache.internal")?.with_password_from(async || token().await);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_password_from<E>(
        self,
        ask: impl AsyncFn() -> Result<String, E> + Send + Sync + 'static,
    ) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Shared { server, options, .. } = &*self.0;
        Self::new(server.with_password(Password::from_callback(ask)), options.clone())
    }

    /// The same as [`with_password_from`](Self::with_password_from) for the sentinels, each of which is asked for the master for each
    /// connection. Their user is `sentinel_user` in the URL.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the URL names no sentinels.
    pub fn with_sentinel_password_from<E>(
        self,
        ask: impl AsyncFn() -> Result<String, E> + Send + Sync + 'static,
    ) -> Result<Self>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Shared { server, options, .. } = &*self.0;
        let server = server.with_sentinel_password(&Password::from_callback(ask))?;
        Ok(Self::new(server, options.clone()))
    }

    /// Uses these certificates instead of the files of `ca`, `cert` and `key`. The URL begins with `rediss:`, `rediss+sentinel:` or
    /// `rediss+cluster:`, or the client of the `redis` crate uses TLS.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names what is wrong with them: no certificate, no key, or a key that belongs
    /// to another certificate; or that the store goes without TLS.
    pub fn with_tls(self, tls: &Tls) -> Result<Self> {
        let Shared { server, options, .. } = &*self.0;
        Ok(Self::new(server.with_tls(&tls.0.config()?)?, options.clone()))
    }

    /// Sets how many replicas must acknowledge each grant, renewal and note; `replicas` in a URL. Zero, the default, does
    /// not wait for any.
    ///
    /// A grant or note that too few replicas acknowledge in time is an error, and undone; a renewal does not move the
    /// deadline. A fail-over then loses no lock, provided that the new master is one of the replicas that acknowledged:
    /// with as many as there are, every one is.
    #[must_use]
    pub fn with_replicas(self, replicas: u32) -> Self {
        self.with(|options| options.replicas = replicas)
    }

    /// Makes this server a member of a [quorum](crate::quorum). After a restart, or with a fresh server, it grants
    /// nothing for `longest_lease`, the longest lease that any client requests: it may have forgotten what it granted
    /// before. Names are remembered for at least a day after their last release.
    ///
    /// All clients of the quorum must use the same `longest_lease` and the same prefix, which must not be that of locks
    /// on this server alone.
    #[must_use]
    pub fn with_votes(self, longest_lease: Duration) -> Self {
        self.with(|options| {
            options.votes = Some(clamp(longest_lease));
            options.retain = options.retain.max(COUNTER_LASTS);
        })
    }

    fn with(self, change: impl FnOnce(&mut Options)) -> Self {
        let Shared { server, options, .. } = &*self.0;
        let mut options = options.clone();
        change(&mut options);
        Self::new(server.clone(), options)
    }
}
