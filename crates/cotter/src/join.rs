//! Polling several futures at once, without tasks.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// Polls all of the futures until all are done.
pub(crate) async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (future, output) in running.iter_mut().zip(&mut done) {
            if output.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(cx)
            {
                *output = Some(ready);
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// Completes with the first of several futures. Never, if there are none.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug, Clone)]
pub(crate) struct First<F>(pub(crate) Vec<F>);

impl<F: Future + Unpin> Future for First<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let ready = self.0.iter_mut().find_map(|future| match Pin::new(future).poll(cx) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        });
        ready.map_or(Poll::Pending, Poll::Ready)
    }
}

/// Polls all of the futures until all are done, `enough` are, or `limit` completes. Drops the others. Also returns the
/// output of `limit`, if that was it.
pub(crate) async fn enough<F: Future, L: Future>(
    futures: impl Iterator<Item = F>,
    limit: L,
    enough: impl Fn(&[Option<F::Output>]) -> bool,
) -> (Vec<Option<F::Output>>, Option<L::Output>) {
    let mut running: Vec<Option<Pin<Box<F>>>> = futures.map(|f| Some(Box::pin(f))).collect();
    let mut done: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    let mut limit = pin!(limit);
    let over = poll_fn(|cx| {
        for (future, output) in running.iter_mut().zip(&mut done) {
            if let Some(Poll::Ready(ready)) = future.as_mut().map(|f| f.as_mut().poll(cx)) {
                (*future, *output) = (None, Some(ready));
            }
        }
        if done.iter().all(Option::is_some) || enough(&done) {
            return Poll::Ready(None);
        }
        limit.as_mut().poll(cx).map(Some)
    });
    let over = over.await;
    (done, over)
}
