//! The password of a store, and the file that contains it.

use super::blocking::in_thread;
use super::options::{read_first_password, read_password};
use crate::sync::lock;
use crate::{ErrorKind, Result};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A password. One from a file is read again for each connection, so that it can be replaced while programs run.
#[derive(Clone)]
pub(crate) struct Password(Arc<State>);

struct State {
    /// The password as it was last read.
    last: Mutex<String>,
    /// The file, if it can be read more than once.
    file: Option<String>,
    was_accepted: AtomicBool,
}

impl Password {
    pub(crate) fn given(password: String) -> Self {
        Self::new(password, None)
    }

    /// Reads the file of `password_file=`.
    pub(crate) fn in_file(path: &str) -> Result<Self> {
        // A pipe has nothing more to say.
        let is_file = Path::new(path).metadata().is_ok_and(|found| found.is_file());
        Ok(Self::new(read_first_password(path)?, is_file.then(|| path.to_owned())))
    }

    fn new(password: String, file: Option<String>) -> Self {
        Self(Arc::new(State { last: Mutex::new(password), file, was_accepted: AtomicBool::default() }))
    }

    /// The password as it is now: the last one while the file is missing or empty, because it is being written, and while there
    /// is no thread to read it.
    pub(crate) async fn current(&self) -> String {
        if let Some(path) = self.0.file.clone() {
            let read = in_thread(move || read_password(&path)).await;
            if let Ok(Ok(password)) = read
                && !password.is_empty()
            {
                *lock(&self.0.last) = password;
            }
        }
        self.last()
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
        let may_change = self.0.file.is_some() && self.0.was_accepted.load(Ordering::Relaxed);
        let has_blank = self.0.file.is_some() && self.last().ends_with(char::is_whitespace);
        connected.map_err(|e| match e.kind() {
            ErrorKind::Denied if may_change => e.with_retryable(true),
            ErrorKind::Denied if has_blank => {
                e.with_remark("the password in the file of password_file= ends with a blank")
            }
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
        assert_eq!(password.current().await, "old");
        write("");
        assert_eq!(password.current().await, "old", "it is being written");
        write("new\n");
        assert_eq!(password.current().await, "new");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(password.current().await, "new", "it is being replaced");
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
        let given = Password::given("fixed".into());
        given.judge_own(Ok(())).unwrap();
        assert!(!tries_again(&given));
    }
}
