//! Setting the options of a store in code.

use super::Store;
use super::options::change;
use crate::Result;
use crate::stores::shared::net::clamp;
use crate::stores::shared::sql::identifier;
use std::time::Duration;

/// The options of [`from_url`](Store::from_url), set in code. Each method returns a new store that shares no state with
/// the one before. Durations are limited to the range from a millisecond to a year.
impl Store {
    /// Sets options as in the query of a URL, for a store that was not made from one: `"mode=row&table=orders&column=id"`.
    /// Values are percent-decoded. Options about the address (`socket`, `sslmode`, `ca`, `cert`, `key`, `password_file`,
    /// `client_name`) are refused.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names the invalid option.
    pub fn with_options(self, options: &str) -> Result<Self> {
        let mut changed = self.0.options.clone();
        change(options, &mut changed)?;
        Ok(Self::new(self.0.servers.params.clone(), changed))
    }

    /// Sets the beginning of the names of tables; `prefix` in a URL. Only clients with the same database and prefix see each
    /// other's locks.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the name has characters other than lower-case letters, digits
    /// and underscores, does not begin with a letter, or is too long.
    pub fn with_prefix(self, prefix: impl Into<String>) -> Result<Self> {
        let prefix = identifier("prefix", prefix.into())?;
        Ok(self.with(|options| options.prefix = prefix))
    }

    /// Sets the maximum number of connections that one runtime has for requests, at least one; `connections` in a URL.
    #[must_use]
    pub fn with_connections(self, connections: usize) -> Self {
        self.with(|options| options.connections = connections.clamp(1, 64))
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
}
