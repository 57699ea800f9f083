//! The password of a store, and where it comes from.

use super::blocking::in_thread;
use super::callback::Callback;
#[cfg(any(feature = "redis", feature = "etcd", feature = "postgres", feature = "mysql", test))]
use super::options::read_first_password;
use super::options::read_password;
use crate::sync::lock;
use crate::{ErrorKind, Result};
use std::error::Error as StdError;
#[cfg(any(feature = "redis", feature = "etcd", feature = "postgres", feature = "mysql", test))]
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A password. One from a file or a callback is read again for each connection, so that it can be replaced while programs run.
#[derive(Clone)]
pub(crate) struct Password(Arc<State>);

struct State {
    /// The password as it was last read.
    last: Mutex<String>,
    origin: Origin,
    was_accepted: AtomicBool,
}

/// Where a password comes from.
#[cfg_attr(
    not(any(feature = "redis", feature = "etcd", feature = "postgres", feature = "mysql")),
    allow(dead_code, reason = "ZooKeeper's file is read once")
)]
enum Origin {
    /// It never changes.
    Given,
    /// A file that can be read more than once.
    File(String),
    Callback(Callback),
}

impl Password {
    pub(crate) fn given(password: String) -> Self {
        Self::new(password, Origin::Given)
    }

    /// Asked for by a callback of the application.
    pub(crate) fn from_callback<E>(ask: impl AsyncFn() -> Result<String, E> + Send + Sync + 'static) -> Self
    where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        Self::new(String::new(), Origin::Callback(Callback::new(ask)))
    }

    /// Reads the file of `password_file=`.
    #[cfg(any(feature = "redis", feature = "etcd", feature = "postgres", feature = "mysql", test))]
    pub(crate) fn in_file(path: &str) -> Result<Self> {
        // A pipe has nothing more to say.
        let is_file = Path::new(path).metadata().is_ok_and(|found| found.is_file());
        let origin = if is_file { Origin::File(path.to_owned()) } else { Origin::Given };
        Ok(Self::new(read_first_password(path)?, origin))
    }

    fn new(password: String, origin: Origin) -> Self {
        Self(Arc::new(State { last: Mutex::new(password), origin, was_accepted: AtomicBool::default() }))
    }

    /// The password as it is now. That of a file is the last one while the file is missing or empty, because it is being written,
    /// and while there is no thread to read it.
    ///
    /// # Errors
    /// A callback fails, or takes longer than `limit`.
    pub(crate) async fn current(&self, limit: Duration) -> Result<String> {
        match &self.0.origin {
            Origin::Given => {}
            Origin::File(path) => {
                let path = path.clone();
                let read = in_thread(move || read_password(&path)).await;
                if let Ok(Ok(password)) = read
                    && !password.is_empty()
                {
                    *lock(&self.0.last) = password;
                }
            }
            Origin::Callback(callback) => {
                let password = callback.ask(limit, &self.last()).await?;
                lock(&self.0.last).clone_from(&password);
                // Whatever others were told meanwhile.
                return Ok(password);
            }
        }
        Ok(self.last())
    }

    /// The same for a login that may have none.
    pub(crate) async fn of(password: Option<&Self>, limit: Duration) -> Result<Option<String>> {
        match password {
            Some(password) => password.current(limit).await.map(Some),
            None => Ok(None),
        }
    }

    /// What somebody waits for who is about to log in with it.
    #[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
    pub(crate) fn awaits(password: Option<&Self>) -> Option<&'static str> {
        match &password?.0.origin {
            Origin::Callback(callback) if callback.is_awaited() => {
                Some("the callback of with_password_from has not answered yet")
            }
            _ => None,
        }
    }

    /// The password as it was last read.
    pub(crate) fn last(&self) -> String {
        lock(&self.0.last).clone()
    }

    /// Judges an attempt to connect with a password, if there is one. While it is being replaced, the server and the file have
    /// different ones: whoever was let in before tries again.
    pub(crate) fn judge<T>(password: Option<&Self>, connected: Result<T>) -> Result<T> {
        match password {
            Some(password) => password.judge_own(connected),
            None => connected,
        }
    }

    fn judge_own<T>(&self, connected: Result<T>) -> Result<T> {
        if connected.is_ok() {
            self.0.was_accepted.store(true, Ordering::Relaxed);
        }
        let blank = match &self.0.origin {
            Origin::Given => return connected,
            Origin::File(_) => "the password in the file of password_file= ends with a blank",
            Origin::Callback(_) => {
                "the password that the callback of with_password_from returns ends with a blank"
            }
        };
        let may_change = self.0.was_accepted.load(Ordering::Relaxed);
        connected.map_err(|e| match e.kind() {
            ErrorKind::Denied if may_change => e.with_retryable(true),
            ErrorKind::Denied if self.last().ends_with(char::is_whitespace) => e.with_remark(blank),
            _ => e,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn refused() -> Result<()> {
        Err(Error::new(ErrorKind::Denied, "no"))
    }

    #[tokio::test]
    async fn the_file_is_read_again_unless_it_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        write("old\n");
        let password = Password::in_file(path.to_str().unwrap()).unwrap();
        let current = async || password.current(Duration::ZERO).await.unwrap();
        assert_eq!(current().await, "old");
        write("");
        assert_eq!(current().await, "old", "it is being written");
        write("new\n");
        assert_eq!(current().await, "new");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(current().await, "new", "it is being replaced");
    }

    #[test]
    fn what_an_editor_may_add_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Password::in_file(path.to_str().unwrap())
        };
        for (text, part) in [("", "is empty"), ("\n", "is empty"), ("\u{feff}secret\n", "byte-order mark")] {
            let error = of(text).map(drop).unwrap_err().to_string();
            assert!(
                error.contains(part) && error.contains("password\"") && !error.contains("secret"),
                "{error}"
            );
        }
        let told = |text: &str| of(text).unwrap().judge_own(refused()).unwrap_err().to_string();
        assert!(told("secret \n").contains("ends with a blank"));
        assert!(!told("secret\n").contains("blank"));
    }

    #[test]
    fn only_one_that_was_accepted_and_may_change_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, "old").unwrap();
        let tries_again = |password: &Password| password.judge_own(refused()).unwrap_err().is_retryable();
        let in_file = Password::in_file(path.to_str().unwrap()).unwrap();
        assert!(!tries_again(&in_file));
        in_file.judge_own(Ok(())).unwrap();
        assert!(tries_again(&in_file));
        let asked = Password::from_callback(async || Ok::<_, Error>("one".to_owned()));
        assert!(!tries_again(&asked));
        asked.judge_own(Ok(())).unwrap();
        assert!(tries_again(&asked));
        let given = Password::given("fixed".into());
        given.judge_own(Ok(())).unwrap();
        assert!(!tries_again(&given));
    }
}
