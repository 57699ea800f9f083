//! Candidates that announce where they are reached, and followers who go there: `leader serve ADDRESS` or `leader follow`.

use anyhow::{Context, bail};
use cotter::{Client, Election, Leader, LeaderState, Lease};
use std::env;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = env::var("ETCD_URL").context("ETCD_URL is not set")?;
    let client = Client::builder().retry_connect(Duration::from_secs(30)).connect(url).await?;
    // Five seconds after the leader has died, there is another one.
    let election = client.election("index").lease(Lease::renewed(Duration::from_secs(5)));
    let mut terminated = signal(SignalKind::terminate())?;
    let stop = async { _ = terminated.recv().await };
    let mut arguments = env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("serve"), Some(address)) => serve(&election, &address, stop).await?,
        (Some("follow"), None) => tokio::select! {
            done = follow(&election) => done?,
            () = stop => {}
        },
        _ => bail!("usage: leader serve ADDRESS | leader follow"),
    }
    client.close(Duration::from_secs(5)).await?;
    Ok(())
}

/// Leads whenever the others let it. Followers see each term with its address from the beginning.
async fn serve(election: &Election, address: &str, stop: impl Future<Output = ()>) -> cotter::Result<()> {
    let election = election.clone().announcing(address);
    tokio::pin!(stop);
    loop {
        let leadership = tokio::select! {
            leadership = election.campaign() => leadership?,
            () = &mut stop => return Ok(()),
        };
        println!("leading in term {}", leadership.token());
        tokio::select! {
            ended = leadership.scope(lead()) => if let Err(lost) = ended { println!("{lost}; once more") },
            // Followers learn of it at once, and not when the lease ends.
            () = &mut stop => return leadership.resign().await,
        }
    }
}

/// What a leader does; ends with its leadership.
async fn lead() {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await; // one document after the other
    }
}

/// Goes on while nobody leads: that is no end, and `changed` has none.
async fn follow(election: &Election) -> cotter::Result<()> {
    let mut watch = election.watch();
    loop {
        match watch.changed().await? {
            LeaderState::Led(Leader { token, announcement: Some(address), .. }) => {
                println!("term {token} is led by {}", String::from_utf8_lossy(&address));
            }
            LeaderState::Led(leader) => println!("term {} begins", leader.token),
            _ => println!("nobody leads"),
        }
    }
}
