//! A diagnosis of the sentinels for `doctor`.

use super::Sentinels;
use super::answer::{Answer, Asked, Known, known};
use crate::backend::Finding;
use crate::stores::redis::options::Options;
use std::fmt::Write;

const SUBJECT: &str = "sentinels";

impl Sentinels {
    /// What each of them says, and what is missing for a failover.
    pub(in crate::stores::redis) async fn diagnose(&self, options: &Options) -> Vec<Finding> {
        self.findings(&self.ask(options).await)
    }

    fn findings(&self, asked: &[Asked]) -> Vec<Finding> {
        let mut findings: Vec<Finding> = asked.iter().filter_map(|asked| self.of_one(asked)).collect();
        let known: Vec<&Known> = asked.iter().filter_map(|(_, answer)| known(answer)).collect();
        match self.choose(asked, None) {
            Ok(master) => {
                let (all, answered) = (asked.len(), known.len());
                let mut message = format!("{answered} of {all} answer; the master is {master}");
                let agree = known.iter().filter(|known| known.named.is_at(&master)).count();
                match agree == answered {
                    true => findings.insert(0, Finding::ok(SUBJECT, message)),
                    false => {
                        let _ = write!(message, ", but {} of them name another server", answered - agree);
                        findings.insert(0, self.of_disagreement(&known, message));
                    }
                }
            }
            Err(e) => findings.insert(0, Finding::voids(SUBJECT, e.to_string())),
        }
        findings.extend(known.first().into_iter().flat_map(|known| self.of_service(known, asked)));
        findings
    }

    /// A sentinel that is behind catches up. Two failovers with one number have not happened: these watch different servers.
    fn of_disagreement(&self, known: &[&Known], message: String) -> Finding {
        let epoch = known.first().map(|known| known.named.epoch);
        match known.iter().all(|known| Some(known.named.epoch) == epoch) {
            true => {
                Finding::voids(SUBJECT, message + " without any failover: clients may meet on two servers")
            }
            false => Finding::limits(SUBJECT, message + ", because they have not heard of the last failover"),
        }
    }

    fn of_one(&self, (at, answer): &Asked) -> Option<Finding> {
        match answer {
            Ok(Answer::Master(_)) => None,
            Ok(Answer::Unknown(_)) => {
                let message = format!("the one at {at} does not know the service {:?}", self.service);
                Some(Finding::limits(SUBJECT, message))
            }
            Err(e) => Some(Finding::limits(SUBJECT, format!("one cannot be used: {e}"))),
        }
    }

    /// Whether there can be a failover.
    fn of_service(&self, known: &Known, asked: &[Asked]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let (Some(others), Some(quorum), Some(replicas)) =
            (known.number("num-other-sentinels"), known.number("quorum"), known.number("num-slaves"))
        else {
            let message = "unknown, because SENTINEL MASTER is not allowed here: quorum, replicas, and whether an answer is older than \
                           the last failover";
            return vec![Finding::limits("failover", message)];
        };
        let all = others + 1;
        let needed = all / 2 + 1;
        if asked.len() < all {
            let message =
                format!("the URL names {} of {all}: name all of them, so that any may be down", asked.len());
            findings.push(Finding::limits(SUBJECT, message));
        }
        let message = format!(
            "{quorum} of {all} sentinels have to agree that the master is down, and {replicas} replicas can take over"
        );
        findings.push(if all < 3 {
            Finding::limits(
                "failover",
                format!("{message}: with fewer than three sentinels, none may be down"),
            )
        } else if quorum > all || quorum.max(needed) == all {
            Finding::limits(
                "failover",
                format!("{message}: no sentinel may be down; set the quorum to {needed}"),
            )
        } else if replicas == 0 {
            Finding::limits("failover", format!("{message}: there is none"))
        } else {
            Finding::ok("failover", message)
        });
        findings
    }
}
