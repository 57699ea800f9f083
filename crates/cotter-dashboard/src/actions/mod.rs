//! What may be changed, with `--allow-changes` and the key. Each change has a page that asks, and is made by the form on it.
//!
//! | file | concept |
//! |---|---|
//! | `evict` | taking a lock away from a holder that was seen |
//! | `job` | pausing, resuming, running and stopping a job |
//! | `said` | what has come of a change, for the page that is shown then |
//! | `posted` | what a form brings |

mod evict;
mod job;
mod posted;
mod said;

pub(crate) use job::Action;

use crate::door::Door;
use crate::pages::Frame;
use crate::recent::LIMIT;
use crate::server::{Shared, page};
use askama::Template;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use cotter_console::lock::stamp;
use cotter_console::{Console, clean};
use said::Said;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::time::timeout;

/// A form has a secret and a reason.
const MAX_FORM: usize = 4 * 1024;

/// What is needed to change something.
#[derive(Debug)]
pub(crate) struct Actions {
    pub(crate) door: Door,
    console: Console,
    said: Said,
}

impl Actions {
    pub(crate) fn new(door: Door, console: Console) -> Self {
        Self { door, console, said: Said::default() }
    }

    fn console(&self) -> Console {
        self.console
    }

    /// What has come of a change.
    pub(crate) fn said(&self, id: &str) -> Option<String> {
        self.said.of(id)
    }
}

/// The addresses. Without actions there are none.
pub(crate) fn routes(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    if shared.actions.is_none() {
        return Router::new();
    }
    Router::new()
        .route("/lock/evict", get(evict::confirm).post(evict::evict))
        .route("/job/change", get(job::confirm).post(job::change))
        .route_layer(from_fn_with_state(shared.clone(), guard))
        .layer(DefaultBodyLimit::max(MAX_FORM))
}

async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match shared.actions.as_ref().and_then(|actions| actions.door.refusal(&request)) {
        Some(why) => (StatusCode::FORBIDDEN, why).into_response(),
        None => next.run(request).await,
    }
}

/// A page that asks.
#[derive(Debug, Template)]
#[template(path = "confirm.html")]
struct Confirm {
    frame: Frame,
    title: String,
    facts: Vec<(&'static str, String)>,
    happens: &'static str,
    /// The address of the form, which says what is changed: a name in a field would lose its line ends.
    action: String,
    secret: String,
    /// Whether a reason and an end can be given.
    is_pause: bool,
    button: &'static str,
    back: String,
}

/// Why nothing has come of it, or why that is not known.
#[derive(Debug, Template)]
#[template(path = "refused.html")]
struct Refused {
    frame: Frame,
    why: String,
    may_be_done: bool,
    back: String,
}

#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    why: String,
}

impl Refusal {
    /// Nothing was changed.
    fn conflict(why: impl Into<String>) -> Self {
        Self { status: StatusCode::CONFLICT, why: why.into() }
    }

    /// Nothing was asked for: the form is wrong.
    fn wrong(why: String) -> Self {
        Self { status: StatusCode::BAD_REQUEST, why }
    }

    /// It is not known whether anything was.
    fn silence(why: String) -> Self {
        Self { status: StatusCode::GATEWAY_TIMEOUT, why }
    }

    fn page(self, shared: &Shared, back: String) -> Response {
        let may_be_done = self.status.is_server_error();
        let refused = Refused { frame: shared.plain_frame(), why: clean(&self.why), may_be_done, back };
        (self.status, page(&refused)).into_response()
    }
}

/// Makes a change, also if the page is closed meanwhile, and shows the page that it was asked for from.
async fn make(
    shared: Arc<Shared>,
    back: String,
    change: impl Future<Output = Result<String, Refusal>> + Send + 'static,
) -> Response {
    let done = match timeout(LIMIT, tokio::spawn(change)).await {
        Ok(done) => done.unwrap_or_else(|error| Err(Refusal::silence(error.to_string()))),
        Err(_) => Err(Refusal::silence(format!("the store has not answered for {} s", LIMIT.as_secs()))),
    };
    match (done, &shared.actions) {
        (Ok(text), Some(actions)) => {
            // Whoever is led to the page is to see it as it is now.
            shared.listing.is_over().await;
            shared.groups.is_over().await;
            let to = format!(
                "{back}&said={}",
                actions.said.keep(format!("{}: {}", stamp(SystemTime::now()), clean(&text)))
            );
            (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
        }
        (Ok(_), None) => StatusCode::NOT_FOUND.into_response(),
        (Err(refusal), _) => refusal.page(&shared, back),
    }
}

/// A text as a part of an address.
fn part(text: &str) -> String {
    cotter_console::encoded(text)
}
