//! The keys of entries: each ends with the id of a claim of this process, of its own or of one before it.
//!
//! A server keeps deleted keys until its history is compacted, which nobody may have set up, and goes through those of a line with
//! each request about the line. With a key of its own for each claim, a name would become slower with each use. So a claim takes
//! over the key of one that was released before, if it can the one that the same name had: the name says where the search for a free
//! key begins. Otherwise each name would have the keys of all names in its history before long.
//!
//! Nothing that was sent for the one may concern the other. So a key is taken over only if the put of its entry was answered, and
//! the removal was sent once and was answered too. Everything else that is sent for a claim compares the revision at which its
//! entry was created.

use crate::Name;
use crate::backend::ClaimId;
use crate::backend::by_claim::ByClaim;
use crate::sync::lock;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Mutex;

#[derive(Debug, Default)]
pub(super) struct KeyPool(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    used: ByClaim<Used>,
    /// The keys of the places that were used before; `None` for one that is in use.
    places: HashMap<usize, Option<ClaimId>>,
    /// The keys that other claims may have than those after which they are called.
    shared: HashSet<ClaimId>,
}

/// The key of a claim.
#[derive(Debug)]
struct Used {
    key: ClaimId,
    /// Where its key is put back; `None` if all places were in use.
    place: Option<usize>,
    /// A put was sent that may have been carried out.
    is_asked: bool,
    /// How often the removal of the entry was begun.
    removals: u32,
}

/// The number of keys that are kept for later claims.
const PLACES: usize = 4096;

impl KeyPool {
    /// Gives a claim on a name a key, if it has none. Returns true if it had none.
    pub(super) fn enter(&self, id: ClaimId, name: &Name) -> bool {
        let mut state = lock(&self.0);
        let is_new = !state.used.contains_key(&id);
        if is_new {
            let place = state.free_place(name);
            let key = place.and_then(|place| state.places.insert(place, None)).flatten();
            state.used.insert(id, Used { key: key.unwrap_or(id), place, is_asked: false, removals: 0 });
        }
        is_new
    }

    /// The key of a claim. A claim without one, or whose key was removed, gets an unused one.
    pub(super) fn of(&self, id: ClaimId) -> ClaimId {
        lock(&self.0).of(id)
    }

    /// Gives a claim another key, because somebody else has its own: as two copies of a virtual machine would.
    pub(super) fn replace(&self, id: ClaimId) {
        let mut state = lock(&self.0);
        let Some(used) = state.used.get_mut(&id) else { return };
        let old = std::mem::replace(&mut used.key, ClaimId::random());
        state.shared.remove(&old);
    }

    /// Records that a put is about to be sent.
    pub(super) fn asked(&self, id: ClaimId) {
        if let Some(used) = lock(&self.0).used.get_mut(&id) {
            used.is_asked = true;
        }
    }

    /// Records that the put was not carried out, and will not be.
    pub(super) fn refused(&self, id: ClaimId) {
        if let Some(used) = lock(&self.0).used.get_mut(&id) {
            used.is_asked = false;
        }
    }

    /// Takes back the key of a claim that has just got it, if no entry was put.
    pub(super) fn take_back(&self, id: ClaimId) {
        let mut state = lock(&self.0);
        if state.used.get(&id).is_some_and(|used| !used.is_asked && used.removals == 0) {
            state.end(id, true);
        }
    }

    /// Records that the removal of a claim's entry is about to be sent. Returns its key.
    pub(super) fn leave(&self, id: ClaimId) -> ClaimId {
        let mut state = lock(&self.0);
        if let Some(used) = state.used.get_mut(&id) {
            used.removals += 1;
        }
        state.of(id)
    }

    /// Records that a removal was answered. `is_settled`: no put can arrive after it.
    pub(super) fn left(&self, id: ClaimId, is_settled: bool) {
        let mut state = lock(&self.0);
        let once = state.used.get(&id).is_some_and(|used| used.removals == 1);
        state.end(id, once && is_settled);
    }

    pub(super) fn clear(&self) {
        *lock(&self.0) = State::default();
    }
}

impl State {
    fn of(&self, id: ClaimId) -> ClaimId {
        match self.used.get(&id) {
            Some(used) => used.key,
            None if self.shared.contains(&id) => ClaimId::random(),
            None => id,
        }
    }

    /// The first free place from that of the name on.
    fn free_place(&self, name: &Name) -> Option<usize> {
        let first = BuildHasherDefault::<DefaultHasher>::default().hash_one(&**name) as usize;
        let mut places = (0..PLACES).map(|step| first.wrapping_add(step) % PLACES);
        places.find(|place| self.places.get(place) != Some(&None))
    }

    fn end(&mut self, id: ClaimId, can_be_used_again: bool) {
        let Some(Used { key, place, .. }) = self.used.remove(&id) else { return };
        match place.filter(|_| can_be_used_again) {
            Some(place) => {
                self.shared.insert(key);
                self.places.insert(place, Some(key));
            }
            None => {
                self.shared.remove(&key);
                place.and_then(|place| self.places.remove(&place));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> Name {
        Name::new("name").unwrap()
    }

    fn released() -> (KeyPool, ClaimId) {
        let (pool, first) = (KeyPool::default(), ClaimId::random());
        assert!(pool.enter(first, &name()) && !pool.enter(first, &name()));
        pool.asked(first);
        assert_eq!(pool.leave(first), first);
        pool.left(first, true);
        (pool, first)
    }

    #[test]
    fn a_key_is_taken_over_after_its_release() {
        let (pool, first) = released();
        let (next, other) = (ClaimId::random(), ClaimId::random());
        assert!(pool.enter(next, &name()) && pool.enter(other, &name()));
        assert_eq!((pool.of(next), pool.of(other)), (first, other));
    }

    #[test]
    fn a_name_keeps_its_key_although_others_are_used_meanwhile() {
        let (pool, names) = (KeyPool::default(), ["a", "b", "c", "d"].map(|name| Name::new(name).unwrap()));
        let round = |order: [usize; 4]| {
            let claims = order.map(|at| (at, ClaimId::random()));
            let mut keys = claims.map(|(at, id)| {
                pool.enter(id, &names[at]);
                pool.asked(id);
                (at, pool.leave(id))
            });
            claims.iter().for_each(|(_, id)| pool.left(*id, true));
            keys.sort_by_key(|(at, _)| *at);
            keys.map(|(_, key)| key)
        };
        let first = round([0, 1, 2, 3]);
        for order in [[1, 0, 3, 2], [3, 2, 1, 0], [2, 3, 0, 1]] {
            assert_eq!(
                round(order),
                first,
                "violation[slower-with-use]: a name gets the keys of other names"
            );
        }
    }

    #[test]
    fn as_many_keys_are_kept_as_there_are_places() {
        let (pool, claims) =
            (KeyPool::default(), (0..=PLACES).map(|_| ClaimId::random()).collect::<Vec<_>>());
        claims.iter().for_each(|id| _ = pool.enter(*id, &name()));
        claims.iter().for_each(|id| _ = pool.leave(*id));
        claims.iter().for_each(|id| pool.left(*id, true));
        assert_eq!(lock(&pool.0).places.len(), PLACES);
        assert_eq!(lock(&pool.0).shared.len(), PLACES);
    }

    #[test]
    fn whoever_had_a_key_before_has_it_no_more() {
        let (pool, first) = released();
        let next = ClaimId::random();
        pool.enter(next, &name());
        assert_ne!(pool.of(first), first);
        assert_ne!(pool.leave(first), first);
        pool.left(first, true);
        assert_eq!(pool.of(next), first);
    }

    #[test]
    fn a_key_in_doubt_is_not_taken_over() {
        let doubts: [fn(&KeyPool, ClaimId); 3] = [
            |pool, id| {
                pool.leave(id);
                pool.left(id, false);
            },
            |pool, id| {
                pool.leave(id);
                pool.leave(id);
                pool.left(id, true);
            },
            |pool, id| pool.take_back(id),
        ];
        for doubt in doubts {
            let (pool, first) = released();
            let (second, third) = (ClaimId::random(), ClaimId::random());
            pool.enter(second, &name());
            pool.asked(second);
            doubt(&pool, second);
            pool.enter(third, &name());
            assert_ne!(pool.of(third), first, "violation[overlap]: what was sent for one ends the other");
        }
    }

    #[test]
    fn a_key_that_was_not_needed_is_taken_back() {
        let (pool, first) = released();
        for _ in 0..3 {
            let id = ClaimId::random();
            assert!(pool.enter(id, &name()));
            assert_eq!(pool.of(id), first);
            pool.asked(id);
            pool.refused(id);
            pool.take_back(id);
        }
    }

    #[test]
    fn a_key_that_somebody_else_has_is_replaced() {
        let (pool, first) = released();
        let next = ClaimId::random();
        pool.enter(next, &name());
        pool.replace(next);
        assert_ne!(pool.of(next), first);
        assert_eq!(pool.of(first), first);
    }
}
