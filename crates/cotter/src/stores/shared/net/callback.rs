//! A callback of the application that is asked for a password.
//!
//! Each call has a thread of its own, so that code that blocks, panics or never returns delays neither the engine nor a runtime of
//! the application. Sockets and timers of the calls, and the tasks that they start, belong to one more thread, which lasts: a client
//! for HTTP keeps its connections from call to call.

use crate::sync::lock;
use crate::sys::Identity;
use crate::{Error, ErrorKind, Result};
use std::error::Error as StdError;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::Duration;
use tokio::runtime::{self, Handle};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

/// Asked for a password, again and again.
pub(super) struct Callback {
    ask: Arc<Ask>,
    /// How many may still run, in which process: a fork has none of the threads of its parent.
    calls: Mutex<(Identity, Arc<Semaphore>)>,
    awaited: AtomicUsize,
}

/// Calls the callback in this runtime, and tells what it says, unless nobody waits for it any more.
type Ask = dyn Fn(&Handle, oneshot::Sender<Said>) + Send + Sync;

/// The password, or the text of an error.
type Said = Result<String, String>;

/// So many calls run at once; others wait. Those that never return count for ever.
const CALLS: usize = 16;
/// So much of the text of an error is repeated.
const LONGEST_TEXT: usize = 300;

impl Callback {
    pub(super) fn new<E>(ask: impl AsyncFn() -> Result<String, E> + Send + Sync + 'static) -> Self
    where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let ask = move |runtime: &Handle, mut tell: oneshot::Sender<Said>| {
            let said = runtime.block_on(async {
                tokio::select! {
                    biased;
                    said = ask() => Some(said.map_err(|e| text(&*e.into()))),
                    () = tell.closed() => None,
                }
            });
            if let Some(said) = said {
                let _ = tell.send(said);
            }
        };
        let calls = Mutex::new((Identity::own(), Arc::new(Semaphore::new(CALLS))));
        Self { ask: Arc::new(ask), calls, awaited: AtomicUsize::new(0) }
    }

    /// Whether somebody waits for an answer.
    #[cfg(any(feature = "redis", feature = "postgres", feature = "mysql", test))]
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited.load(Ordering::Relaxed) > 0
    }

    /// The password as it is now. If the answer does not come in time, or the future is dropped, so is that of the callback.
    ///
    /// # Errors
    /// It fails, panics, says nothing, or takes too long. `last` is the password that it has given before, which is not
    /// repeated.
    pub(super) async fn ask(&self, limit: Duration, last: &str) -> Result<String> {
        let _awaited = Awaited::by(&self.awaited);
        match timeout(limit, self.call()).await {
            Ok(Ok(Ok(password))) if password.is_empty() => Err(failed("has returned an empty password")),
            Ok(Ok(Ok(password))) => Ok(password),
            Ok(Ok(Err(text))) => Err(failed(&format!("has failed: {}", without(last, &text)))),
            Ok(Err(e)) => Err(failed(&format!("could not be called: {e}"))),
            Err(_) => Err(failed(&format!("has not answered within {limit:?}"))),
        }
    }

    async fn call(&self) -> io::Result<Said> {
        let (runtime, calls) = (background().await?, self.calls());
        // It is kept until the callback returns, and not only until nobody waits for it any more.
        let permit = calls.acquire_owned().await.map_err(io::Error::other)?;
        let (tell, told) = oneshot::channel();
        let ask = self.ask.clone();
        Builder::new().name("cotter-password".into()).spawn(move || {
            let _permit = permit;
            ask(&runtime, tell);
        })?;
        told.await.map_err(|_| io::Error::other("it has panicked"))
    }

    fn calls(&self) -> Arc<Semaphore> {
        let (mut calls, here) = (lock(&self.calls), Identity::own());
        if calls.0 != here {
            *calls = (here, Arc::new(Semaphore::new(CALLS)));
        }
        calls.1.clone()
    }
}

/// Counts one who waits.
struct Awaited<'a>(&'a AtomicUsize);

impl<'a> Awaited<'a> {
    fn by(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The runtime of this process for all callbacks.
async fn background() -> io::Result<Handle> {
    static RUNNING: Mutex<Option<(Identity, Handle)>> = Mutex::new(None);
    let here = Identity::own();
    let ours = || lock(&RUNNING).as_ref().filter(|(of, _)| *of == here).map(|(_, handle)| handle.clone());
    if let Some(handle) = ours() {
        return Ok(handle);
    }
    // Not under the lock, so that a fork is unlikely to find it locked. A runtime must not be dropped in a task.
    let (tell, told) = oneshot::channel();
    Builder::new().name("cotter-passwords".into()).spawn(
        move || match runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                let _ = tell.send(Ok(runtime.handle().clone()));
                runtime.block_on(std::future::pending::<()>());
            }
            Err(e) => _ = tell.send(Err(e)),
        },
    )?;
    let handle = told.await.map_err(io::Error::other)??;
    // What a child has of its parent's stays as it is. If two calls have started one each, both are used.
    std::mem::forget(lock(&RUNNING).replace((here, handle.clone())));
    Ok(handle)
}

fn failed(how: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the callback of with_password_from {how}"))
}

/// What an error says, and what those that have caused it say.
fn text(e: &(dyn StdError + 'static)) -> String {
    let causes = std::iter::successors(Some(e), |&e| e.source()).map(ToString::to_string);
    let mut said: Vec<String> = Vec::new();
    for cause in causes {
        // Some repeat their cause themselves.
        if !said.last().is_some_and(|before| before.contains(&cause)) {
            said.push(cause);
        }
    }
    said.join(": ")
}

/// The text on one line, without a password that it may quote.
fn without(password: &str, text: &str) -> String {
    let text = if password.is_empty() { text.to_owned() } else { text.replace(password, "***") };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_TEXT).collect()
}

#[cfg(test)]
mod tests;
