//! Passwords that an application gets from somewhere else, for each connection.

use cotter::{Client, Error, ErrorKind};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::{FAR, Stopwatch, happens};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// What the callback of a store asks.
#[derive(Debug)]
pub(crate) struct Vault {
    says: Mutex<Says>,
    asked: AtomicUsize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    Password(&'static str),
    Sealed,
    /// It panics.
    Ouch,
    /// It never answers.
    Hangs,
    /// It never returns, until it says something else.
    Blocks,
}

/// The time for a connection.
pub(crate) const LIMIT: Duration = Duration::from_secs(1);

impl Vault {
    pub(crate) fn new(says: Says) -> Arc<Self> {
        Arc::new(Self { says: Mutex::new(says), asked: AtomicUsize::new(0) })
    }

    pub(crate) fn says(&self, says: Says) {
        *self.says.lock().unwrap() = says;
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Acquire)
    }

    pub(crate) async fn ask(&self) -> io::Result<String> {
        self.asked.fetch_add(1, Ordering::AcqRel);
        loop {
            let says = *self.says.lock().unwrap();
            match says {
                Says::Password(password) => return Ok(password.to_owned()),
                Says::Sealed => return Err(io::Error::other("the vault is sealed")),
                Says::Ouch => panic!("ouch"),
                Says::Hangs => std::future::pending().await,
                Says::Blocks => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

/// A client goes on, and others log in, with the password that the server has from now on. `replace`: on the server, where nobody is
/// connected with another one then.
pub(crate) async fn a_password_that_changes_is_asked_for_again(
    connect: impl AsyncFn(Arc<Vault>) -> Result<Client, Error>,
    mut replace: impl FnMut(&str),
) {
    replace("first-one");
    let vault = Vault::new(Says::Password("first-one"));
    let client = connect(vault.clone()).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    assert!(!format!("{client:?}").contains("first-one"), "{client:?}");
    let before = vault.asked();

    replace("second-one");
    // It has none for a moment.
    sleep(Duration::from_millis(200)).await;
    vault.says(Says::Password("second-one"));
    let taken = timeout(FAR / 2, client.mutex("a").lock()).await;
    let taken = taken.ok().and_then(Result::ok);
    demand(taken.is_some(), Kind::IdleWaiter, "it is free, and whoever logs in knows the password");
    taken.expect("it was taken").finish().await.unwrap();
    assert!(vault.asked() > before);
    let other = connect(vault).await.unwrap();
    other.mutex("a").lock().await.unwrap().finish().await.unwrap();
    let error = connect(Vault::new(Says::Password("first-one"))).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Denied && !format!("{error:?}").contains("first-one"), "{error:?}");
}

/// Whoever gets no password says why, in the time for a connection, and connects once there is one.
pub(crate) async fn without_a_password_it_is_said_why(
    connect: impl AsyncFn(Arc<Vault>) -> Result<Client, Error>,
) {
    for (says, why) in [
        (Says::Sealed, "has failed: the vault is sealed"),
        (Says::Ouch, "panicked"),
        (Says::Hangs, "has not answered within 1s"),
        (Says::Blocks, "has not answered within 1s"),
        (Says::Password(""), "an empty password"),
    ] {
        let (vault, start) = (Vault::new(says), Stopwatch::start());
        let error = connect(vault.clone()).await.unwrap_err();
        start.at_most(LIMIT * 2, format!("{says:?}"));
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{says:?}: {error}");
        assert!(error.to_string().contains(why), "{says:?}: {error}");
        vault.says(Says::Password("secret"));
        let client = connect(vault).await.unwrap();
        client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    }
}

/// The same for a client whose connections end. `end`: what ends them.
pub(crate) async fn a_client_that_was_connected_says_why(
    connect: impl AsyncFn(Arc<Vault>) -> Result<Client, Error>,
    mut end: impl FnMut(),
) {
    let vault = Vault::new(Says::Password("secret"));
    let client = connect(vault.clone()).await.unwrap();
    for (says, why) in [(Says::Sealed, "the vault is sealed"), (Says::Hangs, "has not answered")] {
        vault.says(says);
        happens(format!("{says:?}"), async {
            loop {
                // Again and again: one that was being made may have had its password already.
                end();
                if client.mutex("a").try_lock().await.is_err_and(|e| e.to_string().contains(why)) {
                    break;
                }
                sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        vault.says(Says::Password("secret"));
        client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    }
}

/// Whoever is logged in does not need the password that the server has from now on. `change`: on the server, which ends nothing.
pub(crate) async fn who_is_logged_in_needs_none(
    connect: impl AsyncFn(Arc<Vault>) -> Result<Client, Error>,
    change: impl Fn(&str),
) {
    let vault = Vault::new(Says::Password("secret"));
    let client = connect(vault.clone()).await.unwrap();
    let guard = client.mutex("held").lock().await.unwrap();
    vault.says(Says::Sealed);
    change("another");
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    guard.finish().await.unwrap();
    change("secret");
}
