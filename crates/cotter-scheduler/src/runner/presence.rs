//! Saying that this scheduler runs, for as long as it does.

use super::context::Context;
use crate::UnixTime;
use crate::notes::hosts::{self, Mark, REPEATED};
use std::sync::Arc;
use std::time::Duration;

/// How long a scheduler that ends waits for the store to take that in. What is not taken in runs out.
const FAREWELL: Duration = Duration::from_secs(1);

/// Says so at once, and again and again. It is only shown: what cannot be written now is written again later.
pub(super) async fn run(context: Arc<Context>, since: UnixTime) {
    loop {
        let _ = tell(&context, Some(mark(&context, since))).await;
        context.clock.sleep(REPEATED).await;
    }
}

/// Takes it back.
pub(super) async fn end(context: &Context) {
    tokio::select! {
        _ = tell(context, None) => {}
        () = context.clock.sleep(FAREWELL) => {}
    }
}

async fn tell(context: &Context, mark: Option<Mark>) -> cotter::Result<()> {
    let settings = &context.settings;
    let now = context.clock.now();
    hosts::tell(&settings.client, &settings.group, &context.id, mark.as_ref(), now).await
}

fn mark(context: &Context, since: UnixTime) -> Mark {
    Mark {
        host: context.settings.host.clone(),
        since,
        at: context.clock.now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workers: context.settings.workers,
        busy: context.workers.busy(),
        off: u64::try_from(context.clock.off().as_millis()).unwrap_or(u64::MAX),
    }
}
