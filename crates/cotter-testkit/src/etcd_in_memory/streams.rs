//! Streams in both directions.

use super::routes::{Incomings, Soon};
use futures_core::Stream;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tonic::body::Body;
use tonic::server::{Grpc, StreamingService};
use tonic::{Response, Status, Streaming};
use tonic_prost::ProstCodec;

/// What is sent on a stream.
pub(super) type Tell<A> = UnboundedSender<Result<A, Status>>;

/// Answers a stream by a task that reads the questions. As with a real server, nothing is sent before the first answer.
pub(super) async fn answer<Q, A, F>(
    request: Incomings,
    read: impl FnOnce(Streaming<Q>, Tell<A>) -> F + Send + 'static,
) -> http::Response<Body>
where
    Q: prost::Message + Default + 'static,
    A: prost::Message + Default + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    Grpc::new(ProstCodec::<A, Q>::default()).streaming(Both(Some(read), PhantomData), request).await
}

struct Both<R, A>(Option<R>, PhantomData<fn() -> A>);

impl<Q, A, R, F> StreamingService<Q> for Both<R, A>
where
    R: FnOnce(Streaming<Q>, Tell<A>) -> F,
    F: Future<Output = ()> + Send + 'static,
    A: Send + 'static,
{
    type Response = A;
    type ResponseStream = Answers<A>;
    type Future = Soon<Result<Response<Answers<A>>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<Q>>) -> Self::Future {
        let (tell, mut told) = unbounded_channel();
        self.0.take().map(|read| tokio::spawn(read(request.into_inner(), tell)));
        Box::pin(async move {
            let first = told.recv().await.transpose()?;
            Ok(Response::new(Answers { first, rest: told }))
        })
    }
}

/// The answers of a stream.
pub(super) struct Answers<A> {
    first: Option<A>,
    rest: UnboundedReceiver<Result<A, Status>>,
}

/// It is never pinned itself, only moved out.
impl<A> Unpin for Answers<A> {}

impl<A> Stream for Answers<A> {
    type Item = Result<A, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => self.rest.poll_recv(cx),
        }
    }
}
