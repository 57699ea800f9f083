//! Asking members for their votes, and counting them.

use super::backend::Quorum;
use super::rounds::Ballot;
use super::seats::{Answers, member};
use crate::backend::{Backend, Claim, ClaimId, Grant, Vote};
use crate::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The members that are slower than a majority have this much longer than twice its time.
const GRACE: Duration = Duration::from_millis(1);

/// The answers of the members to a claim.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) granted: usize,
    pub(super) busy: usize,
    pub(super) abstains: Option<Duration>,
    pub(super) failed: Option<Error>,
    /// A member belongs to another quorum: somebody names other servers, who may have a majority of them.
    pub(super) elsewhere: Option<Error>,
}

impl Tally {
    fn of(answers: &[Option<Result<Vote>>]) -> Self {
        Self::default().with(answers)
    }

    fn with(mut self, answers: &[Option<Result<Vote>>]) -> Self {
        for answer in answers.iter().flatten() {
            match answer {
                Ok(Vote::Granted(_)) => self.granted += 1,
                Ok(Vote::Busy) => self.busy += 1,
                // A quorum is there when the first of them comes back.
                Ok(Vote::Abstains(left)) => {
                    self.abstains = Some(self.abstains.map_or(*left, |known| known.min(*left)));
                }
                Err(e) if e.kind() == ErrorKind::Config && !e.outcome_unknown() => {
                    self.elsewhere = Some(e.clone());
                }
                Err(e) => {
                    // An error that waiting does not mend says more.
                    if self.failed.as_ref().is_none_or(|known| known.is_retryable() && !e.is_retryable()) {
                        self.failed = Some(e.clone());
                    }
                }
            }
        }
        self
    }
}

impl Quorum {
    /// Asks these members, and adds what they say to what others have said.
    pub(super) async fn ask_for_votes(
        &self,
        id: ClaimId,
        round: &Claim,
        seats: &[usize],
        before: Tally,
    ) -> (Tally, Vec<(usize, Grant)>) {
        if seats.is_empty() {
            return (before, Vec::new());
        }
        self.shared.rounds.with(id, round.id, |r| seats.iter().for_each(|s| r.ballots[*s] = Ballot::Sent));
        let answers = self.take(round, seats, 0, before.granted).await;
        let tally = before.with(&answers);
        (tally, self.record(id, round, seats, answers))
    }

    /// Phase 1, after so many others have granted. When a majority has, the rest of the members have as long again: a bare
    /// majority survives the loss of none.
    pub(super) async fn take(
        &self,
        round: &Claim,
        seats: &[usize],
        at_least: u64,
        granted: usize,
    ) -> Answers<Vote> {
        let (majority, reached) = (self.seats.majority(), Notify::new());
        let in_vain = self.seats.len() - majority;
        let take =
            |_, backend: Arc<dyn Backend>| async move { member(&*backend).take(round, at_least).await };
        let decided = |answers: &[Option<Result<Vote>>]| {
            let tally = Tally::of(answers);
            if granted + tally.granted >= majority {
                reached.notify_one();
            }
            tally.busy > in_vain
        };
        self.seats.ask_while(seats, self.patience(round.ttl, &reached), take, decided).await
    }

    /// Completes when it is no use to wait for more votes: true if members are silent, false if they are only slower than a
    /// majority.
    pub(super) async fn patience(&self, ttl: Duration, reached: &Notify) -> bool {
        let began = self.seats.now();
        tokio::select! {
            biased;
            () = reached.notified() => {}
            silent = self.seats.silence(self.seats.limit(ttl)) => return silent,
        }
        let elapsed = self.seats.now().since(began);
        self.seats.pause(elapsed + GRACE).await;
        false
    }

    /// Records what each member has of the round. Returns the votes for it.
    pub(super) fn record(
        &self,
        id: ClaimId,
        round: &Claim,
        seats: &[usize],
        answers: Answers<Vote>,
    ) -> Vec<(usize, Grant)> {
        let mut votes = Vec::new();
        self.shared.rounds.with(id, round.id, |r| {
            for (seat, answer) in seats.iter().zip(answers) {
                r.ballots[*seat] = match answer {
                    None => Ballot::Sent,
                    Some(Err(e)) if e.outcome_unknown() => Ballot::Unknown,
                    Some(Err(_)) | Some(Ok(Vote::Busy | Vote::Abstains(_))) => Ballot::Empty,
                    Some(Ok(Vote::Granted(grant))) => {
                        votes.push((*seat, grant.clone()));
                        Ballot::Cast(grant)
                    }
                };
            }
        });
        votes
    }
}
