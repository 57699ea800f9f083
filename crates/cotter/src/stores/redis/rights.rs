//! What the user of a server may do, and whether messages arrive: a diagnosis for `doctor`.

use super::connection::Link;
use crate::backend::{ClaimId, Finding};
use crate::{ErrorKind, Result};
use redis::aio::PubSub;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

/// A message that takes longer than this does not wake anybody: waiters ask again sooner.
const DELIVERY: Duration = Duration::from_millis(500);
const SUBJECT: &str = "permissions";

/// What an ACL may forbid: waiters subscribe, scripts look for subscribers and publish, `list` scans and reads.
pub(super) async fn check(link: &Link, prefix: &str) -> Result<Vec<Finding>> {
    let channel = channel(prefix);
    let (mut numsub, mut publish) = (redis::cmd("PUBSUB"), redis::cmd("PUBLISH"));
    numsub.arg("NUMSUB").arg(&channel);
    publish.arg(&channel).arg("");
    let (mut scan, mut mget) = (redis::cmd("SCAN"), redis::cmd("MGET"));
    scan.arg(0).arg("MATCH").arg(format!("{prefix}:{{*}}")).arg("COUNT").arg(1);
    mget.arg(format!("{prefix}:{{doctor}}"));
    let mut findings = Vec::new();
    let nobody_waits =
        Finding::breaks(SUBJECT, "PUBSUB is forbidden: nobody can wait; the ACL needs +pubsub|numsub");
    let no_messages = "PUBLISH is forbidden: waiters are not woken; the ACL needs +publish and the channels";
    let no_list = "SCAN is forbidden: locks cannot be listed; the ACL needs +scan";
    let no_records = "MGET is forbidden: locks cannot be shown; the ACL needs +mget";
    for (ask, refused) in [
        (numsub, nobody_waits),
        (publish, Finding::limits(SUBJECT, no_messages)),
        (scan, Finding::limits(SUBJECT, no_list)),
        (mget, Finding::limits(SUBJECT, no_records)),
    ] {
        match link.query(&ask).await {
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::Denied => findings.push(refused),
            Err(e) if e.outcome_unknown() => return Err(e),
            // A replica that has lost its master, or a node of a cluster: the other findings say what is wrong.
            Err(e) => findings.push(Finding::breaks("requests", e.to_string())),
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok(SUBJECT, "scripts can look for subscribers, and locks can be listed"));
    }
    findings.push(messages(link, &channel).await);
    Ok(findings)
}

pub(super) fn channel(prefix: &str) -> String {
    format!("{prefix}:wake:doctor")
}

/// Whether what is published arrives at a subscription: the store sends a message to itself.
pub(super) async fn messages(link: &Link, channel: &str) -> Finding {
    let subject = "subscriptions";
    let subscription = match link.subscribe(channel).await {
        Ok(subscription) => subscription,
        Err(e) => {
            let why = format!("cannot subscribe, so waiters poll and have no place in the queue: {e}");
            return Finding::limits(subject, why);
        }
    };
    // Another doctor may use the channel at the same time.
    let message = ClaimId::random().to_string();
    if let Err(e) = link.query(redis::cmd("PUBLISH").arg(channel).arg(&message)).await {
        return Finding::limits(subject, format!("cannot publish, so waiters are not woken: {e}"));
    }
    let arrived = tokio::select! {
        biased;
        arrived = arrival(subscription, message.as_bytes()) => arrived,
        () = link.clock().sleep_until(link.now() + DELIVERY) => false,
    };
    if arrived {
        return Finding::ok(subject, "a message that was published has arrived: waiters are woken");
    }
    let why = format!(
        "a message that was published did not arrive within {DELIVERY:?}: something in between sends subscriptions to another \
         server, or does not pass messages on; waiters are not woken, and poll"
    );
    Finding::limits(subject, why)
}

/// False if the subscription ends before.
async fn arrival(subscription: PubSub, message: &[u8]) -> bool {
    use futures_core::Stream;
    let mut stream = subscription.into_on_message();
    while let Some(next) = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
        if next.get_payload_bytes() == message {
            return true;
        }
    }
    false
}
