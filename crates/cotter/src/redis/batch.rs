//! Running requests concurrently without tasks.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// The number of grants that one script extends. The server does nothing else while a script runs.
pub(super) const BATCH: usize = 64;

/// Polls all of the futures until all are done.
pub(super) async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
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
