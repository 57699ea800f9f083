//! A client of a server, the real one or the one in memory.

use cotter_testkit::etcd_in_memory::Server;
use futures_core::Stream;
use http::uri::PathAndQuery;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, duplex};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tonic::body::Body;
use tonic::client::{Grpc, GrpcService};
use tonic::{Code, Request, Streaming};
use tonic_prost::ProstCodec;

/// A connection.
pub(crate) struct Client(Grpc<Http2>);

/// An answer, or the code and text of an error.
pub(crate) type Said<A> = Result<A, (Code, String)>;

impl Client {
    /// To a server in memory.
    pub(crate) async fn in_memory(server: &Server) -> Self {
        let (theirs, ours) = duplex(1 << 20);
        tokio::spawn(server.clone().serve(ours));
        Self::over(theirs).await
    }

    /// To a real one.
    pub(crate) async fn real(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("the server listens");
        stream.set_nodelay(true).unwrap();
        Self::over(stream).await
    }

    async fn over(io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        let http = http2::Builder::new(TokioExecutor::new());
        let (sender, driver) = http.handshake(TokioIo::new(io)).await.expect("a connection");
        tokio::spawn(driver);
        Self(Grpc::with_origin(Http2(sender), "http://etcd:2379/".parse().unwrap()))
    }

    pub(crate) async fn ask<Q, A>(&self, path: &'static str, question: Q) -> Said<A>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        let mut grpc = self.0.clone();
        grpc.ready().await.expect("a connection");
        let (path, codec) = (PathAndQuery::from_static(path), ProstCodec::<Q, A>::default());
        let said = grpc.unary(Request::new(question), path, codec).await;
        said.map(|answer| answer.into_inner()).map_err(|e| (e.code(), e.message().to_owned()))
    }

    /// Opens a stream with its first question.
    pub(crate) async fn stream<Q, A>(
        &self,
        path: &'static str,
        first: Q,
    ) -> (UnboundedSender<Q>, Streaming<A>)
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        let (sender, questions) = unbounded_channel();
        sender.send(first).unwrap();
        let mut grpc = self.0.clone();
        grpc.ready().await.expect("a connection");
        let (path, codec) = (PathAndQuery::from_static(path), ProstCodec::<Q, A>::default());
        let said = grpc.streaming(Request::new(Questions(questions)), path, codec).await;
        (sender, said.expect("a stream").into_inner())
    }
}

struct Questions<Q>(UnboundedReceiver<Q>);

impl<Q> Stream for Questions<Q> {
    type Item = Q;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Q>> {
        self.0.poll_recv(cx)
    }
}

#[derive(Clone)]
struct Http2(SendRequest<Body>);

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
