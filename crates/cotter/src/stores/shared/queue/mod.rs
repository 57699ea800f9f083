//! The recipe of stores whose claims are entries in order of creation: who of a line holds.
//!
//! An exclusive lock is held by the first entry. Shared locks are held by all readers before the first writer. Permits are held
//! from the first entry on, as far as they go: whoever wants many is not passed by those behind it that want few.

use crate::backend::Mode;
use crate::{Error, ErrorKind};

/// Returns how many entries of a line hold, counted from its first one. `limit` is the number of permits, if it is not the
/// one that the first entry names.
pub(crate) fn holders(line: &[Mode], limit: Option<u32>) -> usize {
    match line.first() {
        None => 0,
        Some(Mode::Exclusive) => 1,
        Some(Mode::Shared) => line.iter().take_while(|mode| **mode == Mode::Shared).count(),
        Some(Mode::Permits { of, .. }) => {
            let mut left = limit.unwrap_or(*of);
            let fits = |mode: &&Mode| {
                let rest = taken(**mode).and_then(|take| left.checked_sub(take));
                rest.map(|rest| left = rest).is_some()
            };
            line.iter().take_while(fits).count()
        }
    }
}

/// Where an entry of a line of permits stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Holds,
    /// The next release may let it in.
    Next,
    /// Another waiter is before it, which says when it is served. Until then, nobody who leaves lets this one in.
    Behind,
}

/// Returns where the entry with this number stands. `limit` is the number of permits, if it is not the one that the first
/// entry names: where it was set, those who hold more than it allows look like waiters, but will never be served. So everybody
/// is next then.
pub(crate) fn status(line: &[Mode], at: usize, limit: Option<u32>) -> Status {
    match holders(line, limit) {
        holders if at < holders => Status::Holds,
        holders if at == holders || limit.is_some() => Status::Next,
        _ => Status::Behind,
    }
}

fn taken(mode: Mode) -> Option<u32> {
    match mode {
        Mode::Permits { take, .. } => Some(take),
        _ => None,
    }
}

/// Returns the number of permits that applies to a line of which this is the first entry.
pub(crate) fn limit(first: Mode, set: Option<u32>) -> Option<u32> {
    match first {
        Mode::Permits { of, .. } => Some(set.unwrap_or(of)),
        _ => None,
    }
}

/// Refuses a newcomer to a line that is used in another way. `first` is the first entry of the line.
///
/// # Errors
/// [`LimitMismatch`](ErrorKind::LimitMismatch)
pub(crate) fn admit(newcomer: Mode, first: Mode, set: Option<u32>) -> Result<(), Error> {
    let (wanted, used) = (limit(newcomer, None), limit(first, set));
    if wanted == used {
        return Ok(());
    }
    let words = |of: Option<u32>| of.map_or("a lock".to_owned(), |of| format!("a semaphore of {of}"));
    let why = format!("the name is in use as {}, not as {}", words(used), words(wanted));
    Err(Error::new(ErrorKind::LimitMismatch, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Mode::{Exclusive, Shared};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn permits(take: u32) -> Mode {
        Mode::Permits { take, of: 3 }
    }

    #[test]
    fn a_writer_holds_alone_and_readers_until_the_next_writer() {
        assert_eq!(holders(&[], None), 0);
        assert_eq!(holders(&[Exclusive, Exclusive, Shared], None), 1);
        assert_eq!(holders(&[Shared, Shared, Exclusive, Shared], None), 2);
    }

    #[test]
    fn permits_are_held_as_far_as_they_go_and_nobody_passes() {
        assert_eq!(holders(&[permits(2), permits(1), permits(1)], None), 2);
        assert_eq!(holders(&[permits(2), permits(2), permits(1)], None), 1);
        assert_eq!(holders(&[permits(2), permits(2), permits(1)], Some(5)), 3);
        assert_eq!(holders(&[permits(2)], Some(1)), 0);
    }

    #[test]
    fn a_name_is_used_in_one_way() {
        admit(Shared, Exclusive, None).unwrap();
        admit(permits(1), permits(3), None).unwrap();
        admit(Mode::Permits { take: 1, of: 5 }, permits(3), Some(5)).unwrap();
        for (newcomer, first, set) in
            [(permits(1), Shared, None), (Exclusive, permits(1), None), (permits(1), permits(1), Some(5))]
        {
            assert_eq!(admit(newcomer, first, set).unwrap_err().kind(), ErrorKind::LimitMismatch);
        }
    }

    #[test]
    fn the_first_waiter_is_next_and_the_others_are_behind_it() {
        let line = [permits(2), permits(2), permits(1)];
        let statuses = |limit| (0..3).map(|at| status(&line, at, limit)).collect::<Vec<_>>();
        assert_eq!(statuses(None), [Status::Holds, Status::Next, Status::Behind]);
        assert_eq!(statuses(Some(4)), [Status::Holds, Status::Holds, Status::Next]);
        assert_eq!(statuses(Some(1)), [Status::Next; 3]);
    }

    proptest! {
        /// Who leaves a line without a limit that was set lets nobody in who is behind another waiter, unless that one is let in
        /// too, which says so.
        #[test]
        fn nobody_behind_a_waiter_is_let_in_before_it(takes in vec(1_u32..4, 1..12), leaver: prop::sample::Index) {
            let line: Vec<_> = takes.iter().map(|take| permits(*take)).collect();
            let (gone, mut rest) = (leaver.index(line.len()), line.clone());
            rest.remove(gone);
            for at in 0..rest.len() {
                let before = at + usize::from(at >= gone);
                if status(&rest, at, None) == Status::Holds && status(&line, before, None) == Status::Behind {
                    // The one before it has left, or holds now and did not before.
                    let told = before - 1 == gone || status(&line, before - 1, None) != Status::Holds;
                    prop_assert!(told && (before - 1 == gone || status(&rest, at - 1, None) == Status::Holds));
                }
            }
        }
    }
}
