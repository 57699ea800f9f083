//! Listing and evicting what a majority holds; diagnosing members.

use super::backend::Quorum;
use super::seats::{Answers, member};
use crate::backend::{
    Admin, Backend, Claim, Cursor, EvictOrder, Eviction, Filter, Finding, Holder, Leave, Mode, Page,
    RESERVED, Record, Vote,
};
use crate::{Error, ErrorKind, FencingToken, Name, Result};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The time that a member may take to list all of its names.
const PATIENCE: Duration = Duration::from_secs(5);
/// The lease of a vote that is given back at once.
const TRIAL: Duration = Duration::from_secs(2);
/// The mode that a quorum holds in the same way whatever the tokens of the members.
const EXCLUSIVE: Mode = Mode::Exclusive;

impl Quorum {
    /// Asks all members that can be reached, for as long as it takes.
    async fn survey<T, F: Future<Output = Result<T>>>(
        &self,
        call: impl Fn(usize, Arc<dyn Backend>) -> F,
    ) -> Answers<T> {
        let all: Vec<_> = (0..self.seats.len()).collect();
        self.seats.ask(&all, PATIENCE, call, |_| false).await
    }
}

/// All pages of a listing.
async fn list_all(backend: Arc<dyn Backend>, filter: &Filter) -> Result<Vec<Record>> {
    let Some(admin) = backend.admin() else { return Ok(Vec::new()) };
    let (mut records, mut from) = (Vec::new(), None);
    loop {
        let page = admin.list(filter, from.as_ref()).await?;
        records.extend(page.records);
        match page.next {
            Some(next) => from = Some(next),
            None => return Ok(records),
        }
    }
}

/// The record of a name from those of the members: a holder is who holds it at a majority.
fn merged(name: Name, records: &[Record], majority: usize) -> Record {
    let mut holders: Vec<Vec<&Holder>> = Vec::new();
    for holder in records.iter().flat_map(|r| &r.holders) {
        match holders.iter_mut().find(|known| is_same(known[0], holder)) {
            None => holders.push(vec![holder]),
            Some(known) => known.push(holder),
        }
    }
    holders.retain(|votes| votes.len() >= majority);
    let mut record = Record::free(name);
    record.holders = holders.iter().map(|votes| agreed(votes, majority)).collect();
    record.last_token = records.iter().filter_map(|r| r.last_token).max();
    record
}

/// Whether two members mean the same holder. One that was asked later, or that has missed grants, may have given another token.
fn is_same(one: &Holder, other: &Holder) -> bool {
    one.label == other.label && one.mode == other.mode && (one.mode == EXCLUSIVE || one.token == other.token)
}

/// A holder as a majority has it: at the token that a majority stands at, and none of it gives less time than this.
fn agreed(votes: &[&Holder], majority: usize) -> Holder {
    let mut tokens: Vec<_> = votes.iter().map(|vote| vote.token).collect();
    tokens.sort_unstable();
    let mut holder = votes[0].clone();
    // Without that token, a member of that majority did not answer.
    let token = tokens.windows(majority).find(|some| some.first() == some.last());
    holder.token = token.map_or(tokens[0], |some| some[0]);
    holder.turns = votes.iter().map(|vote| vote.turns).min().unwrap_or(1);
    holder.remaining = votes.iter().map(|vote| vote.remaining).min().flatten();
    holder
}

/// The tokens of the members for the holder that has this token at a majority. A member has a smaller one if it has missed grants;
/// under the token of the others, it would keep the name for that holder until the lease ends. A larger one is that of a later hold.
fn own_tokens(holders: &[Option<Holder>], token: FencingToken, majority: usize) -> Vec<Option<FencingToken>> {
    let at_token = holders.iter().flatten().filter(|h| h.token == token && h.mode == EXCLUSIVE);
    let votes = |meant: &Holder| at_token.clone().filter(|other| is_same(meant, other)).count();
    let Some(meant) = at_token.clone().find(|meant| votes(meant) >= majority) else {
        return vec![None; holders.len()];
    };
    let own = |holder: &Holder| (is_same(meant, holder) && holder.token <= token).then_some(holder.token);
    holders.iter().map(|holder| own(holder.as_ref()?)).collect()
}

#[async_trait]
impl Admin for Quorum {
    /// All names are on one page: the pages of the members do not begin with the same names.
    async fn list(&self, filter: &Filter, _: Option<&Cursor>) -> Result<Page> {
        let wanted = filter.clone().with_free();
        let answers = self.survey(|_, backend| list_all(backend, &wanted)).await;
        let mut names: BTreeMap<Name, Vec<Record>> = BTreeMap::new();
        for record in self.majority_of(answers)?.into_iter().flatten() {
            names.entry(record.name.clone()).or_default().push(record);
        }
        let merged = names.into_iter().map(|(name, records)| merged(name, &records, self.seats.majority()));
        let shown = merged.filter(|record| filter.free_too || !record.holders.is_empty());
        Ok(Page::new(shown.collect(), None))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let own = self.own_tokens(name, order).await;
        let evict = |seat: usize, backend: Arc<dyn Backend>| {
            let order = EvictOrder { token: own[seat].or(order.token), ..order };
            async move {
                match backend.admin() {
                    Some(admin) => admin.evict(name, order).await,
                    None => Ok(Eviction::NotHeld),
                }
            }
        };
        let answers = self.majority_of(self.survey(evict).await)?;
        let tokens = answers.into_iter().filter_map(|answer| match answer {
            Eviction::Evicted { token } => Some(token),
            _ => None,
        });
        let mut tokens: Vec<_> = tokens.collect();
        tokens.sort_unstable();
        // A member alone may have given it to a claim that no majority has.
        let token = tokens.len().checked_sub(self.seats.majority()).map(|at| tokens[at]);
        Ok(token.map_or(Eviction::NotHeld, |token| Eviction::Evicted { token }))
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        let diagnose = |_, backend: Arc<dyn Backend>| async move {
            let abstains = member(&*backend).abstains().await?;
            let mut findings = match backend.admin() {
                Some(admin) => admin.diagnose().await?,
                None => Vec::new(),
            };
            if abstains.is_none() {
                findings.push(vote(&*backend).await);
            }
            Ok((backend.info().instance.clone(), abstains, findings))
        };
        let (mut findings, mut voting) = (Vec::new(), 0);
        for (seat, answer) in self.survey(diagnose).await.into_iter().enumerate() {
            match answer {
                Some(Ok((instance, abstains, found))) => {
                    voting += usize::from(abstains.is_none());
                    findings.extend(abstains.map(|left| abstinence(&instance, left)));
                    // What is wrong with one member is not yet wrong with the quorum: a majority makes up for it. One that
                    // loses what it has acknowledged is in every second majority.
                    findings.extend(found.into_iter().map(|finding| finding.of_part(&instance)));
                }
                Some(Err(e)) => findings.push(silence(seat, &e.to_string())),
                None => findings.push(silence(seat, "it does not answer")),
            }
        }
        findings.insert(0, self.votes(voting));
        Ok(findings)
    }

    async fn initialize(&self) -> Result<()> {
        let enlist = |_, backend: Arc<dyn Backend>| async move { member(&*backend).enlist().await };
        let answers = self.survey(enlist).await;
        let done = answers.iter().flatten().filter(|a| a.is_ok()).count();
        match answers.iter().find(|a| !matches!(a, Some(Ok(())))) {
            None => Ok(()),
            Some(failed) => {
                let cause = failed.as_ref().and_then(|a| a.as_ref().err());
                let cause = cause.map_or_else(|| "no answer".to_owned(), Error::to_string);
                let why =
                    format!("{done} of {} members were initialized; another one: {cause}", answers.len());
                Err(Error::new(ErrorKind::Unavailable, why))
            }
        }
    }
}

impl Quorum {
    /// For an order for one token, the tokens that the members have for its holder; see [`own_tokens`].
    async fn own_tokens(&self, name: &Name, order: EvictOrder) -> Vec<Option<FencingToken>> {
        let Some(token) = order.token else { return vec![None; self.seats.len()] };
        let filter = Filter::exactly(name);
        let answers = self.survey(|_, backend| list_all(backend, &filter)).await;
        let records = |answer: Option<Result<Vec<Record>>>| answer.and_then(Result::ok).unwrap_or_default();
        let holders = answers.into_iter().map(|answer| records(answer).pop()?.holders.pop());
        own_tokens(&holders.collect::<Vec<_>>(), token, self.seats.majority())
    }

    fn votes(&self, voting: usize) -> Finding {
        let (of, majority) = (self.seats.len(), self.seats.majority());
        let message = format!("{voting} of {of} members vote, and {majority} are needed");
        match voting {
            _ if voting < majority => Finding::breaks("quorum", message + ": nothing can be locked"),
            _ if of % 2 == 0 => {
                let why = format!("{message}: a quorum with one member fewer survives the loss of as many");
                Finding::limits("quorum", why)
            }
            _ if voting == of => Finding::ok("quorum", message),
            _ => Finding::limits("quorum", message),
        }
    }
}

/// Whether a member can vote: it is asked for a vote of its own, which it gets back.
async fn vote(backend: &dyn Backend) -> Finding {
    let subject = "vote";
    let asked = async {
        let claim = Claim::new(Name::new(RESERVED)?, EXCLUSIVE, TRIAL);
        let vote = member(backend).take(&claim, 0).await;
        // Whatever it has answered, nothing of the claim is left.
        let released = backend.release(&claim, Leave::used(1)).await;
        vote.and_then(|vote| released.map(|_| vote))
    };
    match asked.await {
        Ok(Vote::Granted(_)) => Finding::ok(subject, "it has voted for a lock, and has taken its vote back"),
        // For the lock of another doctor.
        Ok(Vote::Busy) => Finding::ok(subject, "it votes"),
        Ok(Vote::Abstains(_)) => Finding::limits(subject, "it abstains"),
        Err(e) => Finding::breaks(subject, format!("it cannot vote: {e}")),
    }
}

fn abstinence(instance: &str, left: Duration) -> Finding {
    let why = format!(
        "{instance} is new or was restarted, and votes in {left:.0?}; `cotter doctor --init` makes it vote at once, if no \
         lock is held"
    );
    Finding::limits("member", why)
}

fn silence(seat: usize, why: &str) -> Finding {
    Finding::limits("member", format!("member {}: {why}", seat + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_is_behind_is_asked_by_its_own_token_and_a_later_hold_is_left_alone() {
        let holder = |token: u64| Some(Holder::new("web-1/7", EXCLUSIVE, token));
        let own = |tokens: [u64; 3], token: u64| {
            let own = own_tokens(&tokens.map(holder), token.into(), 2);
            own.into_iter().map(|own| own.map_or(0, FencingToken::get)).collect::<Vec<_>>()
        };
        assert_eq!(own([20, 20, 10], 20), [20, 20, 10]);
        assert_eq!(own([20, 30, 30], 20), [0, 0, 0], "they stand at the next hold of the same process");
        assert_eq!(own([20, 20, 30], 20), [20, 20, 0]);
    }
}
