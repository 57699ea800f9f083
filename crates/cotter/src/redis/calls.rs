//! Questions that outlive whoever asked them.
//!
//! A value that others may store too cannot be undone by value: before such a claim is released, the answer to its
//! question has to be known. So a question whose caller has gone stays here, and the release lets it come to its answer.

use super::claims::ByClaim;
use super::older::polling::Tried;
use crate::Result;
use crate::backend::ClaimId;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

type Answer = Result<Tried>;
type Asking = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// The questions that were not answered yet.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<ByClaim<Arc<Call>>>);

struct Call(Mutex<State>);

enum State {
    /// With the waker of the one that asked, who may be polling still.
    Asking(Asking, Option<Waker>),
    Answered(Answer),
}

impl Calls {
    /// Asks. When this is dropped the question stays, for [`land`](Self::land).
    pub(super) async fn ask(&self, id: ClaimId, asking: Asking) -> Answer {
        let call = Arc::new(Call(Mutex::new(State::Asking(asking, None))));
        lock(&self.0).insert(id, call.clone());
        let answer = poll_fn(|cx| call.poll(cx, true)).await;
        lock(&self.0).remove(&id);
        answer
    }

    /// Waits until what this claim has asked is answered. Can be dropped and repeated.
    pub(super) async fn land(&self, id: ClaimId) {
        let Some(call) = lock(&self.0).get(&id).cloned() else { return };
        let _ = poll_fn(|cx| call.poll(cx, false)).await;
        lock(&self.0).remove(&id);
    }
}

impl Call {
    fn poll(&self, cx: &mut Context<'_>, is_asker: bool) -> Poll<Answer> {
        let mut state = lock(&self.0);
        let State::Asking(asking, asker) = &mut *state else {
            let State::Answered(answer) = &*state else { unreachable!("one or the other") };
            return Poll::Ready(answer.clone());
        };
        let Poll::Ready(answer) = asking.as_mut().poll(cx) else {
            if is_asker {
                *asker = Some(cx.waker().clone());
            }
            return Poll::Pending;
        };
        let asker = asker.take().filter(|_| !is_asker);
        *state = State::Answered(answer.clone());
        drop(state);
        asker.into_iter().for_each(Waker::wake);
        Poll::Ready(answer)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}
