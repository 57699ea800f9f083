//! Setting the options of a store in code.

use super::Store;
use super::options::{checked_session, prefix};
use crate::Result;
use crate::stores::shared::net::{Password, Tls, clamp};
use std::time::Duration;

/// The options of [`from_url`](Store::from_url), set in code. Each method returns a new store that shares no state with
/// the one before. Durations are limited to the range from a millisecond to a year.
impl Store {
    /// Sets cotter's own node below the path; `prefix` in a URL. Only clients with the same path and prefix see each other's locks.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the prefix is no name of a single node, is longer than 128 bytes, or
    /// contains blanks, braces, percent signs or control characters.
    pub fn with_prefix(mut self, name: impl Into<String>) -> Result<Self> {
        self.options.prefix = prefix(name.into())?;
        Ok(self)
    }

    /// Sets the length of a session, at most a day; `session` in a URL. The lock of a holder is free this long after its death. A
    /// request has a quarter of it for its answer, so there is no other time limit for that.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): it is longer than a day.
    pub fn with_session(mut self, length: Duration) -> Result<Self> {
        self.options.session = checked_session(clamp(length))?;
        Ok(self)
    }

    /// Sets the time limit for opening a connection to one member; `connect_timeout` in a URL.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = clamp(timeout);
        self
    }

    /// Asks this callback for the password each time a connection is opened, instead of using that of the URL: for secrets that
    /// are no files. The user is that of the URL, and has to be there: `zookeeper://app@zk-0,zk-1,zk-2`.
    ///
    /// With `acl=creator`, the password is part of the access rights of each node: whoever comes with another one is denied the
    /// nodes that are there. Clients that share locks need the same password, and all of them restart with a new one together.
    ///
    /// Each call has a thread of its own and a runtime of tokio with timers and sockets, so it may await and block. After
    /// [the time for a connection](Self::with_connect_timeout), nobody waits for it any more, and its future is dropped. Until it
    /// has answered, what needs the connection waits as in an outage, and a session may end meanwhile.
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
    /// use cotter::zookeeper::Store;
    ///
    /// let store = Store::from_url("zookeeper://app@zk-0,zk-1,zk-2")?.with_password_from(async || secret().await);
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
        self.ensemble.password = Some(Password::from_callback(ask));
        self
    }

    /// Uses these certificates instead of the files of `ca`, `cert` and `key`. TLS is used from then on.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names what is wrong with them: no certificate, no key, or a key that belongs
    /// to another certificate.
    pub fn with_tls(mut self, tls: &Tls) -> Result<Self> {
        self.ensemble.tls = Some(tls.0.config()?);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn they_are_those_of_a_url() {
        let by_url = Store::from_url("zookeeper://h?prefix=app&session=5s&connect_timeout=3s").unwrap();
        let plain = Store::from_url("zookeeper://h").unwrap();
        let in_code = plain.clone().with_prefix("app").unwrap().with_session(Duration::from_secs(5)).unwrap();
        let in_code = in_code.with_connect_timeout(Duration::from_secs(3));
        assert_eq!(format!("{by_url:?}"), format!("{in_code:?}"));
        for wrong in [plain.clone().with_prefix("a/b"), plain.with_session(Duration::from_secs(2 * 86_400))] {
            assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Config);
        }
    }
}
