//! What a form brings.

use crate::server::Shared;
use axum::Form;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;

/// The fields of a form that is one of these pages.
#[derive(Debug, Deserialize)]
pub(super) struct Posted {
    form: String,
    #[serde(default)]
    pub(super) reason: String,
    /// How long a pause lasts; until somebody resumes if it is empty.
    #[serde(default, rename = "for")]
    pub(super) lasting: String,
}

impl FromRequest<Arc<Shared>> for Posted {
    type Rejection = Response;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Response> {
        let Form(posted) =
            Form::<Self>::from_request(request, shared).await.map_err(IntoResponse::into_response)?;
        let is_own = |actions: &super::Actions| actions.door.form().is(&posted.form);
        match shared.actions.as_ref().is_some_and(is_own) {
            true => Ok(posted),
            false => {
                let why = "this form is not from a page of this dashboard, or from before its last start: load it again\n";
                Err((StatusCode::FORBIDDEN, why).into_response())
            }
        }
    }
}
