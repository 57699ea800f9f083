//! HTTP: `/metrics` and `/healthz`.

use super::Metrics;
use crate::prometheus::CONTENT_TYPE;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE as TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The maximum number of connections at a time; others wait.
const MAX_CONNECTIONS: usize = 32;
/// The maximum duration of a connection, so that idle ones give up their places.
const MAX_AGE: Duration = Duration::from_secs(60);
/// How long a request may take to arrive.
const HEADER_TIMEOUT: Duration = Duration::from_secs(3);
/// The pause after an error such as "too many open files".
const ERROR_PAUSE: Duration = Duration::from_millis(100);

/// Answers until it is dropped, and all connections with it.
pub(super) async fn serve(listener: TcpListener, metrics: Weak<Metrics>) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let place = room.clone().acquire_owned().await.expect("never closed");
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let metrics = metrics.clone();
                connections.spawn(async move {
                    let _ = timeout(MAX_AGE, connection(stream, metrics)).await;
                    drop(place);
                });
            }
            Err(_) => sleep(ERROR_PAUSE).await,
        }
    }
}

async fn connection(stream: TcpStream, metrics: Weak<Metrics>) {
    let service = service_fn(|request| answer(request, metrics.clone()));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    // A client that breaks off is its own problem.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, metrics: Weak<Metrics>) -> Result<Response<String>, Infallible> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut refused =
            page(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are supported\n".to_owned());
        refused.headers_mut().insert(ALLOW, "GET, HEAD".parse().expect("a valid value"));
        return Ok(refused);
    }
    let Some(metrics) = metrics.upgrade() else {
        return Ok(page(StatusCode::SERVICE_UNAVAILABLE, "the scheduler has stopped\n".to_owned()));
    };
    Ok(match request.uri().path() {
        "/metrics" => {
            let mut answer = page(StatusCode::OK, metrics.page().await);
            answer.headers_mut().insert(TYPE, CONTENT_TYPE.parse().expect("a valid value"));
            answer
        }
        "/healthz" => match metrics.healthz() {
            Ok(text) => page(StatusCode::OK, text),
            Err(text) => page(StatusCode::SERVICE_UNAVAILABLE, text),
        },
        _ => page(StatusCode::NOT_FOUND, "not found; try /metrics or /healthz\n".to_owned()),
    })
}

fn page(status: StatusCode, text: String) -> Response<String> {
    let mut answer = Response::new(text);
    *answer.status_mut() = status;
    answer.headers_mut().insert(TYPE, "text/plain; charset=utf-8".parse().expect("a valid value"));
    answer
}
