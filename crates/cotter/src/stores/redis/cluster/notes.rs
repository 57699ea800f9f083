//! Notes: each is where its name is.

use super::router::{Route, Router};
use crate::backend::{Grant, Note, NoteAt, Notes, Until};
use crate::{Error, Name, Result};
use async_trait::async_trait;
use std::sync::Arc;

fn of(route: &Route) -> Result<&dyn Notes> {
    let backend = &route.way().backend;
    backend.notes().ok_or_else(|| Error::unsupported("notes", backend.info().variant))
}

#[async_trait]
impl Notes for Router {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        self.send(name, |route| async move { of(&route)?.load(name, key).await }).await
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let name = &grant.claim.name;
        self.send(name, |route| async move { of(&route)?.store(grant, at, bytes).await }).await
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        self.send(name, |route| async move { of(&route)?.swap(name, key, seen, bytes).await }).await
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let request = |route: Arc<Route>| async move { of(&route)?.changed(name, key, seen, until).await };
        self.wait_for(name, until, request).await
    }
}
