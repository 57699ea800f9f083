//! Reservation of fencing tokens, for stores that keep the counter themselves.

/// Reserves the next block of tokens for a grant of up to `turns` turns. Returns the first token and the number of
/// turns reserved; the store then keeps `first + turns - 1` as the new `last`.
///
/// `last` is the largest token ever reserved for the name (0 if none is known), `clock` the store's time in
/// microseconds since 1970.
///
/// A block begins at `max(last + 1, clock)`. The clock is the lower bound of *every* grant, not only of the first one
/// of a counter: a stale counter (a restored snapshot, a promoted replica that lagged) would repeat tokens just as a
/// lost one would. For the same reason a block has at most `max(1, clock - last)` turns, so that the counter does not
/// run ahead of the clock that may have to replace it.
///
/// ```
/// use cotter::backend::tokens::reserve;
/// assert_eq!(reserve(0, 1_000, 8), (1_000, 8));
/// // The clock has advanced by 3 µs since the last token: three turns at most.
/// assert_eq!(reserve(1_007, 1_010, 8), (1_010, 3));
/// // The clock has stopped, or was set back: the counter goes on.
/// assert_eq!(reserve(1_012, 900, 8), (1_013, 1));
/// ```
pub fn reserve(last: u64, clock: u64, turns: u16) -> (u64, u16) {
    let first = clock.max(last + 1);
    let most = u16::try_from(clock.saturating_sub(last).max(1)).unwrap_or(u16::MAX);
    (first, turns.clamp(1, most))
}

/// A counter of a quorum begins at a multiple of this many microseconds.
pub const STEP: u64 = 1_000_000;

/// Reserves the next block of tokens at a [member of a quorum](super::Member). Like [`reserve`], but the clock
/// determines only where a new counter begins, so that the counters of several members agree. The block begins at
/// `at_least` or later.
///
/// A new counter begins at the first full second that is not before the clock. Members whose clocks differ by a
/// millisecond then begin at the same number 999 times out of 1000, without knowing of each other. In exchange, a
/// counter may be ahead of the clock by a [`STEP`].
///
/// ```
/// use cotter::backend::tokens::reserve_next;
/// assert_eq!(reserve_next(0, 6_999_000, 0, 8), (7_000_000, 8));
/// assert_eq!(reserve_next(0, 7_000_000, 0, 8), (7_000_000, 8));
/// assert_eq!(reserve_next(7_000_007, 9_000_000, 0, 8), (7_000_008, 8));
/// assert_eq!(reserve_next(7_000_007, 9_000_000, 8_000_000, 8), (8_000_000, 8));
/// ```
pub fn reserve_next(last: u64, clock: u64, at_least: u64, turns: u16) -> (u64, u16) {
    let (_, turns) = reserve(last, clock + STEP, turns);
    let first = if last == 0 { clock.max(1).next_multiple_of(STEP) } else { last + 1 };
    (first.max(at_least), turns)
}

#[cfg(test)]
mod tests {
    use super::{STEP, reserve, reserve_next};
    use proptest::prelude::*;

    /// Below 2^53, because tokens are also compared as floating-point numbers.
    const MAX: u64 = 1 << 53;

    #[test]
    fn at_least_one_turn_is_reserved() {
        assert_eq!(reserve(0, 0, 0), (1, 1));
        assert_eq!(reserve(5, 5, 3), (6, 1));
        assert_eq!(reserve(0, MAX, u16::MAX), (MAX, u16::MAX));
    }

    proptest! {
        #[test]
        fn blocks_rise_and_stay_near_the_clock(last in 0..MAX, clock in 0..MAX, wanted: u16) {
            let (first, turns) = reserve(last, clock, wanted);
            let next = first + u64::from(turns) - 1;
            prop_assert!(first > last && first >= clock);
            prop_assert!((1..=wanted.max(1)).contains(&turns));
            // The counter gets no further ahead of the clock than it was, plus one, or than the time since the last
            // token.
            prop_assert!(next.saturating_sub(clock) <= (last + 1).saturating_sub(clock).max(clock.saturating_sub(last)));
        }

        #[test]
        fn a_member_counts_on_from_a_full_second_and_stays_near_its_clock(last in 0..MAX, clock in 0..MAX, wanted: u16) {
            let (born, turns) = reserve_next(0, clock, 0, wanted);
            prop_assert!(born >= clock && born - clock <= STEP && born % STEP == 0 && turns == wanted.max(1));
            let (first, turns) = reserve_next(last, clock, 0, wanted);
            let next = first + u64::from(turns) - 1;
            prop_assert!(last == 0 || first == last + 1);
            prop_assert!(last == 0 || next <= (clock + STEP).max(last + 1));
        }

        #[test]
        fn a_counter_that_is_lost_repeats_no_token(
            pauses in prop::collection::vec((1_u64..2_000, any::<u16>()), 1..50),
            began in 1..MAX / 2,
        ) {
            // A grant lasts at least one microsecond for each turn that was used.
            let (mut clock, mut last) = (began, 0);
            for (pause, wanted) in pauses {
                let (first, turns) = reserve(last, clock, wanted);
                last = first + u64::from(turns) - 1;
                clock = clock.max(last) + pause;
            }
            prop_assert!(reserve(0, clock, 1).0 > last);
        }
    }
}
