//! Sequences as streams, for the combinators of `futures` and `tokio-stream`.

use crate::backend::{Pruned, Record};
use crate::{LeaderState, LeaderWatch, Pruning, Records, Result};
use futures_util::Stream;
use futures_util::stream::unfold;
use std::future::Future;

impl Records {
    /// Returns the remaining records as a stream.
    ///
    /// An error that may pass is an item, and polling the stream again continues; every other one is the last item.
    pub fn into_stream(self) -> impl Stream<Item = Result<Record>> + Send + Unpin {
        stream(self)
    }
}

impl Pruning {
    /// Returns the remaining results as a stream. Names are deleted as it is polled; errors are as for
    /// [`Records::into_stream`].
    pub fn into_stream(self) -> impl Stream<Item = Result<Pruned>> + Send + Unpin {
        stream(self)
    }
}

impl LeaderWatch {
    /// Returns the changes as a stream, which ends only after an error that does not pass: an election without a leader
    /// is the item [`LeaderState::Vacant`]. An error that may pass is an item, and polling again continues.
    ///
    /// ```
    /// use cotter::{Client, LeaderState};
    /// use futures_util::TryStreamExt;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
    /// # let client = Client::connect("memory:").await?;
    /// let election = client.election("scheduler").announcing("10.0.0.7:8080");
    /// let _leadership = election.campaign().await?;
    /// let mut changes = election.watch().into_stream();
    /// let now = changes.try_next().await?.expect("it does not end");
    /// assert_eq!(now.leader().and_then(|leader| leader.announcement.as_deref()), Some(&b"10.0.0.7:8080"[..]));
    /// # Ok(()) }
    /// ```
    pub fn into_stream(self) -> impl Stream<Item = Result<LeaderState>> + Send + Unpin {
        stream(self)
    }
}

/// What is asked for its items one after the other.
trait Source: Send {
    type Item: Send;

    fn step(&mut self) -> impl Future<Output = Result<Option<Self::Item>>> + Send;
}

impl Source for Records {
    type Item = Record;

    fn step(&mut self) -> impl Future<Output = Result<Option<Record>>> + Send {
        self.next()
    }
}

impl Source for Pruning {
    type Item = Pruned;

    fn step(&mut self) -> impl Future<Output = Result<Option<Pruned>>> + Send {
        self.next()
    }
}

impl Source for LeaderWatch {
    type Item = LeaderState;

    async fn step(&mut self) -> Result<Option<LeaderState>> {
        self.changed().await.map(Some)
    }
}

fn stream<S: Source>(source: S) -> impl Stream<Item = Result<S::Item>> + Send + Unpin {
    Box::pin(unfold(Some(source), |source| async move {
        let mut source = source?;
        let item = source.step().await.transpose()?;
        let goes_on = item.as_ref().err().is_none_or(crate::Error::is_retryable);
        Some((item, goes_on.then_some(source)))
    }))
}

#[cfg(test)]
mod tests {
    use crate::memory::{Faults, Store};
    use crate::{Client, ErrorKind, Filter, LeaderState};
    use futures_util::{StreamExt, TryStreamExt};
    use std::time::Duration;

    #[tokio::test]
    async fn a_stream_has_what_next_has() {
        let client = Client::connect("memory:").await.unwrap();
        let (_a, _b) = (client.mutex("a").lock().await.unwrap(), client.mutex("b").lock().await.unwrap());
        let records = client.admin().list(Filter::prefix("")).into_stream();
        let mut names: Vec<String> = records.map_ok(|r| r.name.to_string()).try_collect().await.unwrap();
        names.sort();
        assert_eq!(names, ["a", "b"]);
    }

    /// Otherwise a loop that logs errors and goes on would never rest.
    #[tokio::test(start_paused = true)]
    async fn an_outage_is_an_item_and_what_does_not_pass_is_the_last_one() {
        let faults = Faults::new();
        let builder = Client::builder().in_this_runtime().give_up(Duration::from_secs(1));
        let client = builder.connect_to(Store::with_faults(&faults)).await.unwrap();
        let mut changes = client.election("a").watch().into_stream();
        assert_eq!(changes.next().await.unwrap().unwrap(), LeaderState::Vacant);
        faults.set_down(true);
        assert_eq!(changes.next().await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
        faults.set_down(false);
        let leadership = client.election("a").campaign().await.unwrap();
        assert!(changes.next().await.unwrap().unwrap().leader().is_some());
        leadership.resign().await.unwrap();
        assert_eq!(changes.next().await.unwrap().unwrap(), LeaderState::Vacant);
        client.close(Duration::ZERO).await.unwrap();
        assert_eq!(changes.next().await.unwrap().unwrap_err().kind(), ErrorKind::Misuse);
        assert!(changes.next().await.is_none());
    }
}
