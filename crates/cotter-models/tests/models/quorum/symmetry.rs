//! No member is special: states that differ only in the numbers of the members are one.

use super::state::{Member, Phase, Request, State, What};

/// All that a state says of one member. Members of which it says the same can change places.
type Said = (Member, Vec<(Option<u8>, bool, bool)>, Vec<(usize, u8, What)>);

impl State {
    /// The state that stands for all those in which the members have changed places.
    pub(super) fn canonical(mut self) -> Self {
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        order.sort_by_cached_key(|member| self.said_of(*member));
        if order.is_sorted() {
            return self;
        }
        self.members = permuted(&self.members, &order);
        for client in &mut self.clients {
            match &mut client.phase {
                Phase::Idle => {}
                Phase::Taking(votes) => *votes = permuted(votes, &order),
                Phase::Raising { agree, votes, .. } => {
                    (*agree, *votes) = (permuted(agree, &order), permuted(votes, &order));
                }
                Phase::Holding { votes, .. } => *votes = permuted(votes, &order),
            }
        }
        let place = |member| order.iter().position(|m| *m == member).expect("it is one of them");
        self.wire = self.wire.into_iter().map(|r| Request { member: place(r.member), ..r }).collect();
        self
    }

    fn said_of(&self, member: usize) -> Said {
        let known = self.clients.iter().map(|client| match &client.phase {
            Phase::Idle => (None, false, false),
            Phase::Taking(votes) => (votes[member], false, false),
            Phase::Raising { agree, votes, .. } => (None, agree[member], votes[member]),
            Phase::Holding { votes, .. } => (None, false, votes[member]),
        });
        let asked = self.wire.iter().filter(|r| r.member == member);
        let asked = asked.map(|r| (r.client, r.attempt, r.what));
        (self.members[member].clone(), known.collect(), asked.collect())
    }
}

fn permuted<T: Clone>(all: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|at| all[*at].clone()).collect()
}
