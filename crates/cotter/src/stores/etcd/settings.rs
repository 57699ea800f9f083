//! Setting the options of a store in code.

use super::Store;
use super::options::{Dialect, http2};
use crate::Result;
use crate::stores::shared::net::{Password, Tls, clamp, word};
use std::time::Duration;

/// The options of [`from_url`](Store::from_url), set in code. Each method returns a new store that shares no state with
/// the one before. Durations are limited to the range from a millisecond to a year.
impl Store {
    /// Sets where the entries of a lock are; `dialect` in a URL.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.options.dialect = dialect;
        self
    }

    /// Sets the prefix of all keys; `prefix` in a URL. Only clients with the same prefix see each other's locks.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the prefix is empty, longer than 128 bytes, or contains blanks,
    /// braces, percent signs or control characters.
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Result<Self> {
        self.options.prefix = word("prefix", prefix.into())?;
        Ok(self)
    }

    /// Sets the time limit for opening a connection to one member; `connect_timeout` in a URL.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = clamp(timeout);
        self
    }

    /// Asks this callback for the password each time a connection is opened, and when the server ends a login, instead of using
    /// that of the URL: for secrets that are no files and change while programs run. The user is that of the URL, and has to be
    /// there: `etcd://app@etcd-0,etcd-1,etcd-2`.
    ///
    /// Each call has a thread of its own and a runtime of tokio with timers and sockets, so it may await and block. After
    /// [the time for a connection](Self::with_connect_timeout), nobody waits for it any more, and its future is dropped. Until it
    /// has answered, what needs the connection waits as in an outage.
    ///
    /// # Errors
    /// Connecting fails with [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable), which may be tried again, if the callback
    /// fails, panics, is late, or returns an empty password. The error has the text of that of the callback and of its causes,
    /// in which the last password is replaced by `***`. Without a user in the URL, it is
    /// [`ErrorKind::Config`](crate::ErrorKind::Config).
    ///
    /// ```no_run
    /// # async fn secret() -> std::io::Result<String> { Ok(String::new()) }
    /// # fn main() -> cotter::Result<()> {
    /// use cotter::etcd::Store;
    ///
    /// let store = Store::from_url("etcd://app@etcd-0,etcd-1,etcd-2")?.with_password_from(async || secret().await);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_password_from<E>(
        mut self,
        ask: impl AsyncFn() -> Result<String, E> + Send + Sync + 'static,
    ) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.cluster.password = Some(Password::from_callback(ask));
        self
    }

    /// Uses these certificates instead of the files of `ca`, `cert` and `key`. TLS is used from then on.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names what is wrong with them: no certificate, no key, or a key that belongs
    /// to another certificate.
    pub fn with_tls(mut self, tls: &Tls) -> Result<Self> {
        self.cluster.tls = Some(http2(&tls.0)?);
        Ok(self)
    }

    /// Sets the time limit for the answer to a request; `timeout` in a URL.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = clamp(timeout);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn they_are_those_of_a_url() {
        let url = "etcd://h?dialect=concurrency&prefix=app&connect_timeout=3s&timeout=4s";
        let (by_url, plain) = (Store::from_url(url).unwrap(), Store::from_url("etcd://h").unwrap());
        let in_code = plain.clone().with_dialect(Dialect::Concurrency).with_prefix("app").unwrap();
        let in_code =
            in_code.with_connect_timeout(Duration::from_secs(3)).with_timeout(Duration::from_secs(4));
        assert_eq!(format!("{by_url:?}"), format!("{in_code:?}"));
        assert_eq!(plain.with_prefix("a b").unwrap_err().kind(), ErrorKind::Config);
    }
}
