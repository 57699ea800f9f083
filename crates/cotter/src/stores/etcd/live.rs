//! One HTTP/2 connection to one member of the cluster.

use super::errors::Failure;
use http::uri::PathAndQuery;
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use prost::Message;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use tonic::body::Body;
use tonic::client::{Grpc, GrpcService};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;

/// A connection, and the login of its user. Clones share the connection.
#[derive(Clone)]
pub(super) struct Live {
    grpc: Grpc<Http2>,
    sender: SendRequest<Body>,
    token: Option<MetadataValue<Ascii>>,
    timeout: Duration,
    /// Which of the hosts it leads to.
    pub(super) host: usize,
    /// Whether requests have left it.
    retired: Arc<watch::Sender<bool>>,
    /// The latest term that the member has answered in.
    term: Arc<AtomicU64>,
}

/// A request that the driver carries, as tonic takes it.
#[derive(Clone)]
pub(super) struct Http2(pub(super) SendRequest<Body>);

impl GrpcService<Body> for Http2 {
    type ResponseBody = Incoming;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = hyper::Result<http::Response<Incoming>>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

impl Live {
    pub(super) fn new(sender: SendRequest<Body>, origin: http::Uri, host: usize, timeout: Duration) -> Self {
        let grpc = Grpc::with_origin(Http2(sender.clone()), origin);
        let (retired, term) = Default::default();
        Self { grpc, sender, token: None, timeout, host, retired, term }
    }

    pub(super) fn log_in(&mut self, token: MetadataValue<Ascii>) {
        self.token = Some(token);
    }

    /// Whether it has a login, which may end before the connection does.
    pub(super) fn is_logged_in(&self) -> bool {
        self.token.is_some()
    }

    /// Whether new requests may use it. One that has ended while it was idle costs nobody an error.
    pub(super) fn is_usable(&self) -> bool {
        !*self.retired.borrow() && !self.sender.is_closed()
    }

    /// Leaves it to the requests that are under way on it.
    pub(super) fn retire(&self) {
        self.retired.send_replace(true);
    }

    /// Completes when requests have left it. Cancel safe.
    pub(super) async fn until_retired(&self) {
        let _ = self.retired.subscribe().wait_for(|retired| *retired).await;
    }

    /// A term that the member has reached.
    pub(super) fn term(&self) -> u64 {
        self.term.load(Ordering::Acquire)
    }

    /// Records the term of an answer. A member never goes back to an earlier one.
    pub(super) fn has_reached(&self, term: u64) {
        self.term.fetch_max(term, Ordering::AcqRel);
    }

    /// Sends a request and waits for its answer. The time limit counts from here.
    pub(super) async fn ask<Q, A>(&self, path: &'static str, question: Q) -> Result<A, Failure>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let asking = async {
            let mut grpc = self.grpc.clone();
            grpc.ready().await.map_err(ended)?;
            let path = PathAndQuery::from_static(path);
            let answer = grpc.unary(self.request(question), path, ProstCodec::<Q, A>::default()).await?;
            Ok(answer.into_inner())
        };
        self.in_time(asking).await
    }

    /// Sends one message of a stream and waits for the first answer, which ends the stream.
    pub(super) async fn ask_once<Q, A>(&self, path: &'static str, question: Q) -> Result<A, Failure>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let asking = async {
            // Without this end, each question would leave a stream behind, here and in the server.
            let (_open, is_over) = oneshot::channel();
            let mut answers = self.stream(path, Once(Some(question), is_over)).await?;
            let none = || Failure::from(tonic::Status::unknown("the stream ended without an answer"));
            answers.message().await?.ok_or_else(none)
        };
        self.in_time(asking).await
    }

    /// Opens a stream in both directions. Completes with the first answer, so there is no time limit.
    pub(super) async fn stream<S, Q, A>(
        &self,
        path: &'static str,
        questions: S,
    ) -> Result<Streaming<A>, Failure>
    where
        S: futures_core::Stream<Item = Q> + Send + 'static,
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = self.grpc.clone();
        grpc.ready().await.map_err(ended)?;
        let path = PathAndQuery::from_static(path);
        let answer = grpc.streaming(self.request(questions), path, ProstCodec::<Q, A>::default()).await?;
        Ok(answer.into_inner())
    }

    /// A member that has lost its leader ends the request instead of keeping it.
    fn request<M>(&self, message: M) -> Request<M> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }

    async fn in_time<A>(&self, asking: impl Future<Output = Result<A, Failure>>) -> Result<A, Failure> {
        let answer = timeout(self.timeout, asking).await.unwrap_or(Err(Failure::Silence(self.timeout)));
        if answer.as_ref().is_err_and(Failure::is_of_this_member) {
            self.retire();
        }
        answer
    }
}

fn ended(e: hyper::Error) -> Failure {
    tonic::Status::from_error(e.into()).into()
}

/// A stream of one message that stays open behind it, until it is over.
struct Once<M>(Option<M>, oneshot::Receiver<()>);

/// It is never pinned itself, only moved out.
impl<M> Unpin for Once<M> {}

impl<M> futures_core::Stream for Once<M> {
    type Item = M;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<M>> {
        match self.0.take() {
            Some(message) => Poll::Ready(Some(message)),
            None => Pin::new(&mut self.1).poll(cx).map(|_| None),
        }
    }
}
