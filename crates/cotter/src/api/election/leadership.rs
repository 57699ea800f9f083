//! Being the leader.

use super::announcement::{Announcement, KEY};
use crate::{Guard, Op};
use std::ops::Deref;

/// The leadership of a term, which lasts until it is resigned, dropped or lost. Dereferences to [`Guard`]: it is
/// checked, watched and scoped like any lock, and its [`token`](Guard::token) is the number of the term.
///
/// ```
/// # use cotter::Client;
/// # fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").wait()?;
/// let leadership = client.election("scheduler").campaign().wait()?;
/// leadership.announce("10.0.0.7:8080").wait()?;
/// leadership.check()?; // stops here once the leadership is lost
/// println!("term {}", leadership.token());
/// leadership.resign().wait()?;
/// # Ok(()) }
/// ```
///
/// A leader that has lost its leadership may not know it yet: pass the token to whatever it commands
/// ([`Fence`](crate::Fence)).
#[must_use = "a leadership that is dropped at once is given up at once"]
#[derive(Debug)]
pub struct Leadership(Guard);

impl Leadership {
    pub(super) fn new(guard: Guard) -> Self {
        Self(guard)
    }

    /// Publishes an announcement to observers: an address, for example. Replaces the previous announcement of this
    /// leader.
    ///
    /// Cancel safety: if the call is dropped, it may or may not have been announced. Announcements of one leader keep
    /// their order.
    ///
    /// # Errors
    /// [`ErrorKind::Lost`](crate::ErrorKind::Lost) if this is no longer the leader,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for more than
    /// [`Election::MAX_ANNOUNCEMENT`](crate::Election::MAX_ANNOUNCEMENT) bytes,
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer.
    pub fn announce(&self, bytes: impl Into<Vec<u8>>) -> Op<()> {
        let announcement = Announcement::Made(bytes.into());
        match announcement.check_size(self.0.name()) {
            Ok(()) => self.0.put_note_at(KEY, announcement.bytes()),
            Err(e) => Op::new(&self.0.engine(), std::future::ready(Err(e))),
        }
    }

    /// Gives up the leadership, so that observers learn of it at once. Dropping it also gives it up, but observers
    /// learn of that only when they next look, or when there is another leader.
    ///
    /// Cancel safety: the leadership is given up even if the call is dropped or never polled.
    ///
    /// # Errors
    /// As [`Guard::finish`]: [`ErrorKind::Lost`](crate::ErrorKind::Lost) if the leadership was lost before.
    pub fn resign(self) -> Op<()> {
        let engine = self.0.engine();
        Op::new(&engine, async move {
            // Observers find out without it.
            let _ = self.0.put_note_at(KEY, Announcement::Resigned.bytes()).await;
            self.0.finish().await
        })
    }
}

impl Deref for Leadership {
    type Target = Guard;
    fn deref(&self) -> &Guard {
        &self.0
    }
}

impl From<Leadership> for Guard {
    fn from(leadership: Leadership) -> Self {
        leadership.0
    }
}
