//! A candidate that leads, announces its address, and campaigns again when its leadership is lost; and a watch that
//! follows whoever leads.
//!
//! Start it several times at once, and each leads in its turn. With more rounds there is time to kill the one that leads.
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::{Client, Election, LeaderState, Leadership, Lease, Result};
use std::time::Duration;

/// What a leader does, until its leadership is lost.
async fn lead(leadership: &Leadership, rounds: u32) {
    for round in 1..=rounds {
        println!("term {}: round {round}", leadership.token());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn follow(election: Election) -> Result<()> {
    let mut watch = election.watch();
    loop {
        match watch.changed().await? {
            LeaderState::Led(leader) => {
                let address = leader.announcement.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                println!("led by {address:?} in term {}", leader.token);
            }
            _ => println!("led by nobody"),
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "file:".to_owned());
    let client = Client::connect(url).await?;
    let election = client.election("example:leader").lease(Lease::renewed(Duration::from_secs(5)));
    let following = tokio::spawn(follow(election.clone()));
    loop {
        let leadership = election.campaign().await?;
        leadership.announce(format!("10.0.0.7:{}", std::process::id())).await?;
        match leadership.scope(lead(&leadership, 5)).await {
            Ok(()) => {
                leadership.resign().await?;
                break;
            }
            Err(lost) => println!("{lost}; once more"),
        }
    }
    following.abort();
    client.close(Duration::from_secs(5)).await
}
