//! Setting the options of a store in code.

use super::Store;
use super::options::change;
use crate::Result;
use crate::stores::shared::net::{Password, Tls, clamp, word};
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

    /// Sets the name that is the `program_name` among the attributes of the sessions; `client_name` in a URL.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the name is empty, longer than 128 bytes, or contains blanks, braces,
    /// percent signs or control characters.
    pub fn with_client_name(self, name: impl Into<String>) -> Result<Self> {
        let name = word("client_name", name.into())?;
        let mut options = self.0.options.clone();
        let params = self.0.servers.params.with_client_name(&name);
        options.client_name = name;
        Ok(Self::new(params, options))
    }

    /// Sets the time limit for opening a connection; `connect_timeout` in a URL.
    #[must_use]
    pub fn with_connect_timeout(self, timeout: Duration) -> Self {
        self.with(|options| options.connect_timeout = clamp(timeout))
    }

    /// Asks this callback for the password each time a connection is opened, instead of using that of the URL or the settings: for
    /// tokens that expire after some minutes, as those of IAM on Amazon RDS, and for secrets that are no files. The user is that
    /// of the URL: `mysql://app@db.internal/jobs`. With TLS, the password is sent as it is to servers that ask for that
    /// (`mysql_clear_password`), as RDS does for tokens.
    ///
    /// Each call has a thread of its own and a runtime of tokio with timers and sockets, so it may await and block. After
    /// [the time for a connection](Self::with_connect_timeout), nobody waits for it any more, and its future is dropped. Until it
    /// has answered, what needs the connection waits as in an outage.
    ///
    /// A session stays logged in when its token expires or the user's password is changed: only new connections need the new one.
    ///
    /// # Errors
    /// Connecting fails with [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable), which may be tried again, if the callback
    /// fails, panics, is late, or returns an empty password. The error has the text of that of the callback and of its causes,
    /// in which the last password is replaced by `***`.
    ///
    /// ```no_run
    /// # async fn token() -> std::io::Result<String> { Ok(String::new()) }
    /// # fn main() -> cotter::Result<()> {
    /// use cotter::mysql::Store;
    ///
    /// let store = Store::from_url("mysql://app@db.internal/jobs")?.with_password_from(async || token().await);
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
        let (mut params, options) = (self.0.servers.params.clone(), self.0.options.clone());
        params.password = Some(Password::from_callback(ask));
        params.sends_tokens = true;
        Self::new(params, options)
    }

    /// Uses these certificates instead of the files of `ca`, `cert` and `key`. The store uses TLS: with `sslmode=verify-full`,
    /// the default but for servers on this host, or by `ssl_opts` of the settings, which these replace.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names what is wrong with them: no certificate, no key, or a key that belongs
    /// to another certificate; or that the store goes without TLS.
    pub fn with_tls(self, tls: &Tls) -> Result<Self> {
        let params = self.0.servers.params.with_tls(&tls.0)?;
        Ok(Self::new(params, self.0.options.clone()))
    }

    /// Sets the time limit for the answer to a request; `timeout` in a URL.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.with(|options| options.timeout = clamp(timeout))
    }
}
