//! A server that is left for the next one of the URL.

use cotter::{Client, Guard};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::FAR;

/// The lock, from the next host: nobody else can have it there then.
pub(crate) async fn locked_there(client: &Client, others: &Client, name: &str) -> Guard {
    let locked = tokio::time::timeout(FAR, client.mutex(name).lock()).await;
    let guard = locked.ok().and_then(Result::ok);
    demand(guard.is_some(), Kind::StuckWaiter, "the next host has it to give");
    let other = others.mutex(name).try_lock().await.unwrap();
    demand(other.is_none(), Kind::Overlap, "it is held on the next host");
    guard.expect("it was demanded")
}
