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
    /// Values are percent-decoded, and files are read at once. Options about the address (`host`, `sslmode`,
    /// `password_file`, `client_name`) are refused.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names the invalid option.
    pub fn with_options(self, options: &str) -> Result<Self> {
        let (mut params, mut changed) = (self.0.connector.params.clone(), self.0.options.clone());
        change(options, &mut params, &mut changed)?;
        Ok(Self::new(params, changed))
    }

    /// Sets the schema of the tables; `schema` in a URL. In `mode=shedlock` it is the schema of ShedLock's table, which is
    /// otherwise looked for in the `search_path` of the role.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the name has characters other than lower-case letters, digits
    /// and underscores, does not begin with a letter, or is too long.
    pub fn with_schema(self, schema: impl Into<String>) -> Result<Self> {
        let schema = identifier("schema", schema.into())?;
        Ok(self.with(|options| options.schema = Some(schema)))
    }

    /// Sets the beginning of the names of tables and functions; `prefix` in a URL. Only clients with the same schema
    /// and prefix see each other's locks.
    ///
    /// # Errors
    /// As [`with_schema`](Self::with_schema).
    pub fn with_prefix(self, prefix: impl Into<String>) -> Result<Self> {
        let prefix = identifier("prefix", prefix.into())?;
        Ok(self.with(|options| options.common.prefix = prefix))
    }

    /// Sets the maximum number of connections that one runtime has for requests, at least one; `connections` in a URL.
    #[must_use]
    pub fn with_connections(self, connections: usize) -> Self {
        self.with(|options| options.common.connections = connections.clamp(1, 64))
    }

    /// Sets the name that is the `application_name` of the sessions; `client_name` in a URL.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the name is empty, longer than 128 bytes, or contains blanks, braces,
    /// percent signs or control characters.
    pub fn with_client_name(self, name: impl Into<String>) -> Result<Self> {
        let name = word("client_name", name.into())?;
        let (mut params, mut options) = (self.0.connector.params.clone(), self.0.options.clone());
        params.login.application_name(&name);
        options.common.client_name = name;
        Ok(Self::new(params, options))
    }

    /// Sets the time limit for opening a connection; `connect_timeout` in a URL.
    #[must_use]
    pub fn with_connect_timeout(self, timeout: Duration) -> Self {
        self.with(|options| options.common.connect_timeout = clamp(timeout))
    }

    /// Asks this callback for the password each time a connection is opened, instead of using that of the URL or the settings: for
    /// tokens that expire after some minutes, as those of IAM on Amazon RDS, and for secrets that are no files. The user is that
    /// of the URL: `postgres://app@db.internal/jobs`.
    ///
    /// Each call has a thread of its own and a runtime of tokio with timers and sockets, so it may await and block. After
    /// [the time for a connection](Self::with_connect_timeout), nobody waits for it any more, and its future is dropped. Until it
    /// has answered, what needs the connection waits as in an outage.
    ///
    /// A session stays logged in when its token expires or the role's password is changed: only new connections need the new one.
    ///
    /// # Errors
    /// Connecting fails with [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable), which may be tried again, if the callback
    /// fails, panics, is late, or returns an empty password. The error has the text of that of the callback and of its causes,
    /// in which the last password is replaced by `***`.
    ///
    /// ```no_run
    /// # async fn token() -> std::io::Result<String> { Ok(String::new()) }
    /// # fn main() -> cotter::Result<()> {
    /// use cotter::postgres::Store;
    ///
    /// let store = Store::from_url("postgres://app@db.internal/jobs")?.with_password_from(async || token().await);
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
        let (mut params, options) = (self.0.connector.params.clone(), self.0.options.clone());
        params.password = Some(Password::from_callback(ask));
        Self::new(params, options)
    }

    /// Uses these certificates instead of the files of `ca`, `cert` and `key`. The store uses TLS: with `sslmode=verify-full`,
    /// the default but for servers on this host.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names what is wrong with them: no certificate, no key, or a key that belongs
    /// to another certificate; or that the store goes without TLS.
    pub fn with_tls(self, tls: &Tls) -> Result<Self> {
        let (mut params, options) = (self.0.connector.params.clone(), self.0.options.clone());
        params.set_tls(
            &tls.0,
            "with_tls needs sslmode=verify-full in the URL, or an SSL mode of the settings",
        )?;
        Ok(Self::new(params, options))
    }

    /// Sets the time limit for the answer to a request; `timeout` in a URL.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.with(|options| options.common.timeout = clamp(timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_client_is_that_of_its_sessions() {
        let store = Store::from_url("postgres://u@localhost/d").unwrap().with_client_name("orders").unwrap();
        assert_eq!(store.0.connector.params.login.get_application_name(), Some("orders"));
        store.with_client_name("two words").unwrap_err();
    }
}
