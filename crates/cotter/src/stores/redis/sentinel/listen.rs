//! Hearing of a new master, so that an old one that stands still or is cut off is left before requests to it run into their time limit.

use super::Sentinels;
use super::answer::Asked;
use super::master::Named;
use crate::Result;
use crate::backend::Backoff;
use crate::stores::redis::connector::Connector;
use crate::stores::redis::errors::{Sent, explain};
use crate::stores::redis::options::Options;
use crate::stores::redis::socket::Server;
use crate::stores::redis::wake::next;
use redis::Msg;
use std::time::Duration;
use tokio::time::{interval, sleep, timeout};

/// What sentinels announce a new master on.
const REPLACED: &str = "+switch-master";
/// The same of the one that leads the failover: it announces the other only when all replicas follow, or after minutes.
const PROMOTED: &str = "+failover-state-reconf-slaves";
/// The period at which a silent subscription is checked.
const PING_PERIOD: Duration = Duration::from_secs(5);
/// The pauses between attempts to subscribe.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(2)).with_jitter(0.25);

impl Sentinels {
    /// Listens to one sentinel after another, and ends the term of a master that was replaced. One connection of a store does so;
    /// in the others this waits for its turn.
    pub(super) async fn listen(&self, options: &Options) {
        let _turn = self.master.listener().await;
        let mut backoff = BACKOFF;
        for (_, server) in self.each.iter().cycle() {
            if self.hear(server, options).await.is_ok() {
                backoff.reset();
            }
            sleep(backoff.pause()).await;
        }
    }

    /// Listens to a sentinel until it does not answer.
    async fn hear(&self, server: &Server, options: &Options) -> Result<()> {
        let mut subscription = Connector::new(server, options).subscribe(REPLACED).await?;
        subscription.subscribe(PROMOTED).await.map_err(|e| explain(e, Sent::No))?;
        // It may have been announced before.
        self.catch_up(&self.ask(options).await);
        let (mut sink, mut stream) = subscription.split();
        let mut tick = interval(PING_PERIOD);
        tick.tick().await;
        loop {
            tokio::select! {
                message = next(&mut stream) => match message {
                    Some(message) => self.on_message(&message),
                    None => return Ok(()),
                },
                _ = tick.tick() => {
                    let pong = timeout(options.timeout, sink.ping::<redis::Value>()).await;
                    if !matches!(pong, Ok(Ok(_))) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Whether it is true is seen when the sentinels are asked for the new one.
    fn on_message(&self, message: &Msg) {
        let text = String::from_utf8_lossy(message.get_payload_bytes());
        let words: Vec<&str> = text.split(' ').collect();
        let is_known = |host: &str, port: &str| {
            let at = |known: Named| known.host == host && port.parse() == Ok(known.port);
            self.master.named().is_some_and(at)
        };
        let ends = match (message.get_channel_name(), &words[..]) {
            (REPLACED, [service, _, _, host, port]) => *service == self.service && !is_known(host, port),
            (PROMOTED, ["master", service, host, port]) => *service == self.service && is_known(host, port),
            _ => false,
        };
        if ends {
            self.master.end();
        }
    }

    fn catch_up(&self, asked: &[Asked]) {
        let (known, named) = (self.master.named(), self.choose(asked, None));
        if let (Some(known), Ok(named)) = (known, named)
            && !named.is_at(&known)
            && named.epoch >= known.epoch
        {
            self.master.end();
        }
    }
}
