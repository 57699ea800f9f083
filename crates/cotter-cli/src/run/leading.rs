//! `cotter elect`: the lock is won in an election, and the leader announces itself.

use super::wait_options::WaitOptions;
use cotter::{Client, Guard, Name};
use std::time::Duration;

/// The work of a run as a leader.
#[derive(Debug, Clone)]
pub(crate) struct Leading {
    pub(crate) announcement: Option<String>,
}

impl Leading {
    /// Campaigns for as long as the options say.
    pub(super) async fn campaign(
        &self,
        wait_options: &WaitOptions,
        client: &Client,
        name: &Name,
    ) -> Result<Option<Guard>, cotter::Error> {
        let election = client.election(name);
        let election = match &self.announcement {
            Some(text) => election.announcing(text.as_str()),
            None => election,
        };
        let won = match wait_options.wait.or(wait_options.no_wait.then_some(Duration::ZERO)) {
            Some(wait) => election.campaign_for(wait).await?,
            None => Some(election.campaign().await?),
        };
        Ok(won.map(Guard::from))
    }
}
