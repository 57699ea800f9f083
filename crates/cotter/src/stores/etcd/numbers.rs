//! The numbers under which a server speaks of the watches of one stream.
//!
//! A server takes the number that a watch is asked for with. `etcd grpc-proxy` does not: it counts by itself, from 0, and tells the
//! number with its first answer about the watch. Those answers are not in the order of the requests. So the first watch of a stream is
//! asked for alone. If the answer has another number, each of the others is asked for alone too, so that it is known which of them
//! an answer is about.

use super::messages::WatchResponse;
use std::collections::{HashMap, VecDeque};

#[derive(Debug, Default)]
pub(super) struct Numbers {
    counting: Counting,
    /// The watch that was asked for alone, and not answered yet.
    asked: Option<Asked>,
    /// Those to be asked for after it.
    next: VecDeque<i64>,
    /// Ours, by theirs.
    theirs: HashMap<i64, i64>,
}

/// Who gives the watches their numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Counting {
    #[default]
    Unknown,
    Ours,
    Theirs,
}

#[derive(Debug)]
struct Asked {
    id: i64,
    /// Nobody wants it any more.
    is_over: bool,
}

/// The watch that an answer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// One that is open.
    Watch(i64),
    /// One that nobody wants any more, and that the server does not know of yet: with its number there.
    Ended(i64),
    Nothing,
}

impl Numbers {
    /// Whether the watch may be asked for now. Otherwise it is returned by `next` when it may.
    pub(super) fn may_ask(&mut self, id: i64) -> bool {
        match (self.counting, &self.asked) {
            (Counting::Ours, _) => true,
            (_, None) => {
                self.asked = Some(Asked { id, is_over: false });
                true
            }
            (_, Some(_)) => {
                self.next.push_back(id);
                false
            }
        }
    }

    /// A watch that may be asked for now, after an answer.
    pub(super) fn next(&mut self) -> Option<i64> {
        let may_ask = self.counting == Counting::Ours || self.asked.is_none();
        if may_ask { self.next.pop_front() } else { None }
    }

    /// The watch that an answer is about.
    pub(super) fn about(&mut self, answer: &WatchResponse) -> About {
        let number = answer.watch_id;
        if self.counting == Counting::Ours {
            return About::Watch(number);
        }
        if let Some(id) = self.theirs.get(&number) {
            return About::Watch(*id);
        }
        let Some(Asked { id, is_over }) = self.asked.take_if(|_| answer.created) else {
            return About::Nothing;
        };
        if self.counting == Counting::Unknown && number == id {
            self.counting = Counting::Ours;
        } else if !answer.is_refusal() {
            self.counting = Counting::Theirs;
            self.theirs.insert(number, id);
        }
        match is_over {
            true => self.ends(id).map_or(About::Nothing, About::Ended),
            false => About::Watch(id),
        }
    }

    /// Forgets a watch that is to end. Returns its number, if the server has told it; otherwise its end follows the answer.
    pub(super) fn ends(&mut self, id: i64) -> Option<i64> {
        if self.counting == Counting::Ours {
            return Some(id);
        }
        self.asked.iter_mut().filter(|asked| asked.id == id).for_each(|asked| asked.is_over = true);
        let number = self.theirs.iter().find(|(_, ours)| **ours == id).map(|(number, _)| *number)?;
        self.theirs.remove(&number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(watch_id: i64) -> WatchResponse {
        WatchResponse { watch_id, created: true, ..WatchResponse::default() }
    }

    fn refused(watch_id: i64) -> WatchResponse {
        WatchResponse { canceled: true, ..created(watch_id) }
    }

    fn events(watch_id: i64) -> WatchResponse {
        WatchResponse { watch_id, ..WatchResponse::default() }
    }

    /// The first three watches are wanted; the server gives the first one this number.
    fn three(first: i64) -> Numbers {
        let mut numbers = Numbers::default();
        assert_eq!([1, 2, 3].map(|id| numbers.may_ask(id)), [true, false, false]);
        assert_eq!(numbers.next(), None);
        assert_eq!(numbers.about(&created(first)), About::Watch(1));
        numbers
    }

    #[test]
    fn a_server_that_takes_our_numbers_is_asked_for_all_at_once() {
        let mut numbers = three(1);
        assert_eq!((numbers.next(), numbers.next(), numbers.next()), (Some(2), Some(3), None));
        assert!(numbers.may_ask(4));
        assert_eq!(numbers.about(&events(3)), About::Watch(3));
        assert_eq!(numbers.ends(3), Some(3));
    }

    #[test]
    fn a_server_that_counts_by_itself_is_asked_for_one_after_the_other() {
        let mut numbers = three(0);
        assert_eq!(numbers.next(), Some(2));
        assert!(numbers.may_ask(2) && numbers.next().is_none());
        assert_eq!(numbers.about(&events(0)), About::Watch(1));
        assert_eq!(numbers.about(&events(1)), About::Nothing, "its number is not told yet");
        assert_eq!(numbers.about(&created(1)), About::Watch(2));
        assert_eq!((numbers.ends(1), numbers.ends(1)), (Some(0), None));
        assert_eq!(numbers.about(&events(0)), About::Nothing, "it has ended");
        assert_eq!(numbers.about(&events(1)), About::Watch(2));
    }

    #[test]
    fn a_watch_that_ends_before_its_number_is_told_ends_then() {
        let mut numbers = three(0);
        assert!(numbers.next() == Some(2) && numbers.may_ask(2));
        assert_eq!(numbers.ends(2), None);
        assert_eq!(numbers.about(&created(1)), About::Ended(1));
        let mut numbers = Numbers::default();
        assert!(numbers.may_ask(1) && numbers.ends(1).is_none());
        assert_eq!(numbers.about(&created(1)), About::Ended(1));
    }

    #[test]
    fn a_refusal_gives_nobody_a_number() {
        let mut numbers = Numbers::default();
        assert!(numbers.may_ask(1) && !numbers.may_ask(2));
        assert_eq!(numbers.about(&refused(-1)), About::Watch(1));
        assert!(numbers.next() == Some(2) && numbers.may_ask(2));
        assert_eq!(numbers.about(&created(0)), About::Watch(2));
        assert_eq!(numbers.about(&events(0)), About::Watch(2));
    }
}
