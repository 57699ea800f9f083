//! Several futures at once, without a crate for it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Waits for all; the answers in order.
pub async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    until(futures, |_| false).await.into_iter().flatten().collect()
}

/// Waits until `enough` or all have answered; drops the others.
pub async fn until<F: Future>(
    futures: impl Iterator<Item = F>,
    enough: impl Fn(&[Option<F::Output>]) -> bool,
) -> Vec<Option<F::Output>> {
    let mut running: Vec<Option<Pin<Box<F>>>> = futures.map(|f| Some(Box::pin(f))).collect();
    let mut answers: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (slot, answer) in running.iter_mut().zip(&mut answers) {
            if let Some(future) = slot
                && let Poll::Ready(done) = future.as_mut().poll(cx)
            {
                (*slot, *answer) = (None, Some(done));
            }
        }
        if running.iter().all(Option::is_none) || enough(&answers) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    answers
}
