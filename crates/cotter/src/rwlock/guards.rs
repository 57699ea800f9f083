//! The guards of readers and writers.

use crate::engine::downgrade;
use crate::{Guard, Op, Released};
use std::ops::Deref;
use std::time::Duration;

/// A lock held for reading. Dereferences to [`Guard`]: it can be checked, extended, and so on in the same way.
#[must_use = "a guard that is dropped at once frees the lock at once"]
#[derive(Debug)]
pub struct ReadGuard(Guard);

/// A lock held for writing. Dereferences to [`Guard`], and can [`downgrade`](Self::downgrade).
#[must_use = "a guard that is dropped at once frees the lock at once"]
#[derive(Debug)]
pub struct WriteGuard(Guard);

impl WriteGuard {
    /// Goes on as a reader, without a moment in which another writer could get the lock.
    ///
    /// Cancel safety: the lock is lost if the call is dropped or fails half-way; it is released in the background.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store cannot do it in one step,
    /// [`ErrorKind::Lost`](crate::ErrorKind::Lost) if the lock is not held any more,
    /// [`ErrorKind::Misuse`](crate::ErrorKind::Misuse) while the same owner holds it more than once.
    pub fn downgrade(self) -> Op<ReadGuard> {
        let engine = self.0.engine();
        Op::new(&engine, async move { downgrade(self.0).await.map(ReadGuard) })
    }
}

/// Everything that takes the guard by value, which `Deref` cannot reach.
macro_rules! by_value {
    ($($guard:ident)*) => {$(
        impl $guard {
            pub(super) fn new(guard: Guard) -> Self {
                Self(guard)
            }

            /// Gives the lock back, and fails if it was lost on the way; see [`Guard::finish`].
            ///
            /// # Errors
            /// As [`Guard::finish`].
            pub fn finish(self) -> Op<()> {
                self.0.finish()
            }

            /// Gives the lock back; see [`Guard::release`].
            ///
            /// # Errors
            /// As [`Guard::release`].
            pub fn release(self) -> Op<Released> {
                self.0.release()
            }

            /// Gives the lock back, but keeps it for `rest`; see [`Guard::leave_for`].
            ///
            /// # Errors
            /// As [`Guard::leave_for`].
            pub fn leave_for(self, rest: Duration) -> Op<Released> {
                self.0.leave_for(rest)
            }
        }

        impl Deref for $guard {
            type Target = Guard;
            fn deref(&self) -> &Guard {
                &self.0
            }
        }

        impl From<$guard> for Guard {
            fn from(guard: $guard) -> Self {
                guard.0
            }
        }
    )*};
}

by_value!(ReadGuard WriteGuard);
