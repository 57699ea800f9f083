//! Addresses, and pages that go on by themselves.

use crate::groups::Groups;
use crate::job_page::JobPage;
use crate::job_pages::{JobTables, Jobs};
use crate::listing::{Listing, PERIOD};
use crate::pages::{Frame, Lock, LockDetails, LockTable, Locks, Store};
use crate::shield::shield;
use crate::table::{Sort, Wanted};
use askama::Template;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, Uri};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use cotter::Client;
use cotter_console::clean;
use futures_core::Stream;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many pages may go on by themselves at a time.
const LIVE: usize = 100;

#[derive(Debug)]
struct Shared {
    listing: Listing,
    /// Without any, there is no page of jobs.
    groups: Groups,
    live: Arc<Semaphore>,
}

#[derive(Debug, Deserialize)]
struct Which {
    name: String,
}

#[derive(Debug, Deserialize)]
struct WhichJob {
    group: String,
    name: String,
}

pub(crate) async fn serve(listener: TcpListener, client: Client, groups: &[String]) -> std::io::Result<()> {
    axum::serve(listener, router(client, groups)).await
}

fn router(client: Client, groups: &[String]) -> Router {
    let groups = Groups::new(&client, groups);
    let shared = Shared { listing: Listing::new(client), groups, live: Arc::new(Semaphore::new(LIVE)) };
    Router::new()
        .route("/", get(locks))
        .route("/lock", get(lock))
        .route("/jobs", get(jobs))
        .route("/job", get(job))
        .route("/store", get(store))
        .route("/live/jobs", get(live_jobs))
        .route("/live/job", get(live_job))
        .route("/live/locks", get(live_locks))
        .route("/live/lock", get(live_lock))
        .route("/style.css", get(|| file("text/css", include_str!("../assets/style.css"))))
        .route("/live.js", get(|| file("text/javascript", include_str!("../assets/live.js"))))
        .fallback(nothing)
        .layer(middleware::from_fn(shield))
        .with_state(Arc::new(shared))
}

async fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, kind)], text)
}

async fn nothing() -> impl IntoResponse {
    (StatusCode::NOT_FOUND, "there is no such page; the locks are at /\n")
}

/// A page, or why there is none.
fn page(template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => Html(text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

impl Shared {
    /// The frame of this page, whose part goes on by itself with what was asked for.
    fn frame(&self, on: &'static str, asked: &Uri) -> Frame {
        let live = asked.query().map_or_else(|| format!("/live/{on}"), |query| format!("/live/{on}?{query}"));
        let store = clean(&self.listing.client.info().instance);
        Frame { store, on, has_jobs: !self.groups.is_empty(), live }
    }

    async fn job_tables(&self) -> JobTables {
        JobTables::of(&self.groups.view().await)
    }
}

async fn locks(State(shared): State<Arc<Shared>>, Query(wanted): Query<Wanted>, asked: Uri) -> Response {
    let table = LockTable::of(&*shared.listing.view().await, &wanted);
    page(&Locks { frame: shared.frame("locks", &asked), wanted, sorts: Sort::ALL, table })
}

async fn lock(State(shared): State<Arc<Shared>>, Query(which): Query<Which>, asked: Uri) -> Response {
    let details = LockDetails::of(&*shared.listing.view().await, &which.name);
    page(&Lock { frame: shared.frame("lock", &asked), shown: clean(&which.name), details })
}

async fn jobs(State(shared): State<Arc<Shared>>, asked: Uri) -> Response {
    if shared.groups.is_empty() {
        return unnamed();
    }
    page(&Jobs { tables: shared.job_tables().await, frame: shared.frame("jobs", &asked) })
}

async fn job(State(shared): State<Arc<Shared>>, Query(which): Query<WhichJob>, asked: Uri) -> Response {
    let Some(place) = shared.groups.place(&which.group).await else { return unnamed() };
    let details = shared.groups.details(place, &which.name).await;
    page(&JobPage { frame: shared.frame("job", &asked), shown: clean(&which.name), details })
}

fn unnamed() -> Response {
    let why = "this group of jobs was not named: start `cotter dashboard --group NAME`\n";
    (StatusCode::NOT_FOUND, why).into_response()
}

async fn live_job(State(shared): State<Arc<Shared>>, Query(which): Query<WhichJob>) -> Response {
    let Some(place) = shared.groups.place(&which.group).await else { return unnamed() };
    live(shared, move |shared| {
        let name = which.name.clone();
        async move { shared.groups.details(place, &name).await }
    })
}

async fn live_jobs(State(shared): State<Arc<Shared>>) -> Response {
    live(shared, |shared| async move { shared.job_tables().await })
}

async fn store(State(shared): State<Arc<Shared>>, asked: Uri) -> Response {
    let examined = shared.listing.examined().await;
    page(&Store::of(shared.frame("store", &asked), shared.listing.client.info(), &examined))
}

async fn live_locks(State(shared): State<Arc<Shared>>, Query(wanted): Query<Wanted>) -> Response {
    live(shared, move |shared| {
        let wanted = wanted.clone();
        async move { LockTable::of(&*shared.listing.view().await, &wanted) }
    })
}

async fn live_lock(State(shared): State<Arc<Shared>>, Query(which): Query<Which>) -> Response {
    live(shared, move |shared| {
        let name = which.name.clone();
        async move { LockDetails::of(&*shared.listing.view().await, &name) }
    })
}

/// A part of a page, again and again: every second, and only if it has changed.
fn live<T, F>(shared: Arc<Shared>, part: impl Fn(Arc<Shared>) -> F + Send + 'static) -> Response
where
    T: Template + Send,
    F: Future<Output = T> + Send + 'static,
{
    let Ok(permit) = shared.live.clone().try_acquire_owned() else {
        let why = format!("{LIVE} pages go on by themselves already; close one, and reload this one\n");
        return (StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    };
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        let _permit: OwnedSemaphorePermit = permit;
        let mut last = String::new();
        loop {
            let text = part(shared.clone()).await.render().unwrap_or_default();
            if text != last {
                last.clone_from(&text);
                if sender.send(Ok(Event::default().data(text))).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(PERIOD) => {}
                () = sender.closed() => return,
            }
        }
    });
    Sse::new(Parts(receiver)).keep_alive(KeepAlive::default()).into_response()
}

/// What a task sends, as a stream.
struct Parts(tokio::sync::mpsc::Receiver<Result<Event, Infallible>>);

impl Stream for Parts {
    type Item = Result<Event, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
