//! Addresses.

use crate::actions::{self, Actions};
use crate::groups::Groups;
use crate::job_page::JobPage;
use crate::job_pages::{JobTables, Jobs};
use crate::listing::Listing;
use crate::live::{LIVE, live};
use crate::pages::{Frame, Lock, LockDetails, LockTable, Locks, Store};
use crate::shield::shield;
use crate::table::{Sort, Wanted};
use askama::Template;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use cotter::Client;
use cotter_console::clean;
use serde::Deserialize;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) listing: Listing,
    /// Without any, there is no page of jobs.
    pub(crate) groups: Groups,
    /// Without them, nothing can be changed.
    pub(crate) actions: Option<Actions>,
    /// Room for pages that go on by themselves.
    pub(crate) live: Arc<Semaphore>,
}

#[derive(Debug, Deserialize)]
struct Which {
    name: String,
    /// The number of what has come of a change.
    #[serde(default)]
    said: String,
}

#[derive(Debug, Deserialize)]
struct WhichJob {
    group: String,
    name: String,
    #[serde(default)]
    said: String,
}

/// The key, of whoever comes to change something.
#[derive(Debug, Deserialize)]
struct Entry {
    key: Option<String>,
}

pub(crate) async fn serve(
    listener: TcpListener,
    client: Client,
    groups: &[String],
    actions: Option<Actions>,
) -> std::io::Result<()> {
    axum::serve(listener, router(client, groups, actions)).await
}

fn router(client: Client, groups: &[String], actions: Option<Actions>) -> Router {
    let groups = Groups::new(&client, groups);
    let live = Arc::new(Semaphore::new(LIVE));
    let shared = Arc::new(Shared { listing: Listing::new(client), groups, actions, live });
    Router::new()
        .merge(actions::routes(&shared))
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
        .with_state(shared)
}

async fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, kind)], text)
}

async fn nothing() -> impl IntoResponse {
    (StatusCode::NOT_FOUND, "there is no such page; the locks are at /\n")
}

/// A page, or why there is none.
pub(crate) fn page(template: &impl Template) -> Response {
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

    /// The frame of a page that stays as it is.
    pub(crate) fn plain_frame(&self) -> Frame {
        self.frame("", &Uri::default())
    }

    /// Whether whoever asks may change something.
    fn may_change(&self, headers: &HeaderMap) -> bool {
        self.actions.as_ref().is_some_and(|actions| actions.door.is_open(headers))
    }

    fn said(&self, id: &str) -> String {
        self.actions.as_ref().and_then(|actions| actions.said(id)).unwrap_or_default()
    }

    async fn job_tables(&self) -> JobTables {
        JobTables::of(&self.groups.view().await)
    }
}

async fn locks(
    State(shared): State<Arc<Shared>>,
    Query(wanted): Query<Wanted>,
    Query(entry): Query<Entry>,
    asked: Uri,
) -> Response {
    if let (Some(actions), Some(key)) = (&shared.actions, &entry.key) {
        return actions.door.enter(key);
    }
    let table = LockTable::of(&*shared.listing.view().await, &wanted);
    page(&Locks { frame: shared.frame("locks", &asked), wanted, sorts: Sort::ALL, table })
}

async fn lock(
    State(shared): State<Arc<Shared>>,
    Query(which): Query<Which>,
    headers: HeaderMap,
    asked: Uri,
) -> Response {
    let view = shared.listing.view().await;
    let details = LockDetails::of(&view, &which.name, shared.may_change(&headers));
    let (shown, said) = (clean(&which.name), shared.said(&which.said));
    page(&Lock { frame: shared.frame("lock", &asked), shown, said, details })
}

async fn jobs(State(shared): State<Arc<Shared>>, asked: Uri) -> Response {
    if shared.groups.is_empty() {
        return unnamed();
    }
    page(&Jobs { tables: shared.job_tables().await, frame: shared.frame("jobs", &asked) })
}

async fn job(
    State(shared): State<Arc<Shared>>,
    Query(which): Query<WhichJob>,
    headers: HeaderMap,
    asked: Uri,
) -> Response {
    let Some(place) = shared.groups.place(&which.group).await else { return unnamed() };
    let details = shared.groups.details(place, &which.name, shared.may_change(&headers)).await;
    let (shown, said) = (clean(&which.name), shared.said(&which.said));
    page(&JobPage { frame: shared.frame("job", &asked), shown, said, details })
}

pub(crate) fn unnamed() -> Response {
    let why = "this group of jobs was not named: start `cotter dashboard --group NAME`\n";
    (StatusCode::NOT_FOUND, why).into_response()
}

async fn live_job(
    State(shared): State<Arc<Shared>>,
    Query(which): Query<WhichJob>,
    headers: HeaderMap,
) -> Response {
    let Some(place) = shared.groups.place(&which.group).await else { return unnamed() };
    let may_change = shared.may_change(&headers);
    live(shared, move |shared| {
        let name = which.name.clone();
        async move { shared.groups.details(place, &name, may_change).await }
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

async fn live_lock(
    State(shared): State<Arc<Shared>>,
    Query(which): Query<Which>,
    headers: HeaderMap,
) -> Response {
    let may_change = shared.may_change(&headers);
    live(shared, move |shared| {
        let name = which.name.clone();
        async move { LockDetails::of(&*shared.listing.view().await, &name, may_change) }
    })
}
