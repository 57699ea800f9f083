//! A hold in the line of its name.

use crate::engine::grant::hold::Hold;
use crate::engine::line::request::Request;
use crate::engine::line::state::Holding;
use crate::engine::queue::first_try::SharedTry;
use crate::{Guard, Mode, Moment, Owner};

impl Holding for Hold {
    type Guard = Guard;
    type Attempt = SharedTry;

    fn mode(&self) -> Mode {
        self.grant.claim.mode
    }

    fn has_owner(&self) -> bool {
        self.lock().owner.is_some()
    }

    fn belongs_to(&self, owner: &Owner) -> bool {
        self.lock().owner.as_ref() == Some(owner)
    }
}

impl Hold {
    /// Returns true if the lock can pass to a waiter without asking the store.
    pub(crate) fn can_pass_to(&self, request: &Request, now: Moment) -> bool {
        request.takes_turns()
            && self.grant.claim.mode == Mode::Exclusive
            && request.lease == self.lease
            && self.lease.max_hold.is_none()
            && self.turns_left()
            && now < self.slice_end
            && self.half_left(now)
    }
}
