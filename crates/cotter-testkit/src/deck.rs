//! Drawing without putting back, so that no kind is left out by chance.

use rand::RngExt;

/// Cards of several kinds in random order. It is dealt anew when it is empty: after each full deck, every kind has been drawn
/// exactly as often as it is in the deck.
#[derive(Debug, Clone)]
pub struct Deck<T> {
    all: Vec<T>,
    left: Vec<T>,
}

impl<T: Clone> Deck<T> {
    /// So many cards of each kind.
    ///
    /// # Panics
    /// When there are none.
    #[must_use]
    pub fn of(kinds: &[(T, usize)]) -> Self {
        let all: Vec<T> =
            kinds.iter().flat_map(|(kind, count)| std::iter::repeat_n(kind.clone(), *count)).collect();
        assert!(!all.is_empty(), "a deck has cards");
        Self { all, left: Vec::new() }
    }

    /// The next card.
    pub fn draw(&mut self, rng: &mut impl RngExt) -> T {
        if self.left.is_empty() {
            self.left.clone_from(&self.all);
        }
        self.left.swap_remove(rng.random_range(0..self.left.len()))
    }
}

impl Deck<bool> {
    /// This part of the cards says yes, to the tenth.
    #[must_use]
    pub fn with_share(share: f64) -> Self {
        let yes = (share * 10.0).round().clamp(0.0, 10.0) as usize;
        Self::of(&[(true, yes), (false, 10 - yes)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    /// How many of `draws` draws were of each of three kinds.
    fn counts(seed: u64, draws: usize) -> [usize; 3] {
        let (mut deck, mut rng) = (Deck::of(&[(0, 1), (1, 3), (2, 6)]), StdRng::seed_from_u64(seed));
        let mut counts = [0; 3];
        (0..draws).for_each(|_| counts[deck.draw(&mut rng)] += 1);
        counts
    }

    #[test]
    fn each_full_deck_has_each_kind_as_often_as_it_says() {
        for seed in 0..1_000 {
            assert_eq!(counts(seed, 10), [1, 3, 6], "seed {seed}");
            assert_eq!(counts(seed, 30), [3, 9, 18], "seed {seed}");
        }
    }

    #[test]
    fn the_order_is_random() {
        let first = |seed| counts(seed, 1);
        assert!(
            (0..100).any(|seed| first(seed) == [1, 0, 0]) && (0..100).any(|seed| first(seed) == [0, 0, 1])
        );
    }

    #[test]
    fn a_share_is_exact() {
        for (share, wanted) in [(0.0, 0), (0.3, 3), (0.5, 5), (1.0, 10)] {
            let (mut deck, mut rng) = (Deck::with_share(share), StdRng::seed_from_u64(1));
            assert_eq!((0..10).filter(|_| deck.draw(&mut rng)).count(), wanted, "{share}");
        }
    }
}
