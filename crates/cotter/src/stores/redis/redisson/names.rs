//! The keys, channels and owners that Redisson expects.

use super::recipe::Recipe;
use crate::Name;
use crate::backend::{Claim, ClaimId, Mode};
use std::fmt;

/// Identifies a client in the owners of its locks, as the random UUID of a Redisson client does.
///
/// It is one of version 8, where Redisson's are of version 4: a holder that has drawn a token from the counter can be told from
/// one that may have none.
#[derive(Debug, Clone)]
pub(in crate::stores::redis) struct Uuid(String);

/// The place of the version in the text of a UUID, and ours.
const VERSION: (usize, u8) = (14, b'8');

impl Uuid {
    pub(in crate::stores::redis) fn random() -> Self {
        let bits = ClaimId::random().bits();
        let (version, variant) = (0x8 << 76, 0b10 << 62);
        let bits = bits & !(0xf << 76) & !(0b11 << 62) | version | variant;
        let hex = format!("{bits:032x}");
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Self(parts.join("-"))
    }

    /// The owner of what a claim holds: where Redisson has the id of a thread, it has the low half of the claim id.
    pub(super) fn owner(&self, recipe: Recipe, claim: &Claim) -> String {
        let writes = recipe == Recipe::RwLock && claim.mode == Mode::Exclusive;
        format!("{}:{}{}", self.0, claim.id.bits() as u64, if writes { ":write" } else { "" })
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether an owner is a claim of cotter.
pub(super) fn is_ours(owner: &[u8]) -> bool {
    let dashes = [8, 13, 18, 23].map(|i| owner.get(i) == Some(&b'-'));
    dashes.iter().all(|dash| *dash) && owner.get(VERSION.0) == Some(&VERSION.1)
}

/// The channel on which releases of a lock are published.
pub(super) fn channel(recipe: Recipe, name: &Name) -> String {
    prefixed(channels(recipe), name)
}

/// What the channels of those who wait for a fair lock begin with; their owners follow.
pub(super) fn channels_in_line(name: &Name) -> String {
    channel(Recipe::Fair, name) + ":"
}

/// What the channels of all locks begin with.
pub(super) fn channels(recipe: Recipe) -> &'static str {
    match recipe {
        Recipe::Lock | Recipe::Fenced | Recipe::Fair => "redisson_lock__channel",
        Recipe::RwLock => "redisson_rwlock",
        Recipe::Permits => "redisson_sc",
    }
}

/// The key that exists as long as the lease of a reader: of the nth time that it has entered.
pub(super) fn lease(name: &Name, reader: &str, nth: u64) -> String {
    suffixed(name, &format!("{reader}:rwlock_timeout:{nth}"))
}

/// The keys with those who hold permits of a semaphore, and with the limit that cotter has set.
pub(super) fn permits(name: &Name) -> [String; 2] {
    ["timeout", "cotter_limit"].map(|suffix| suffixed(name, suffix))
}

/// The key that counts the tokens of a lock.
pub(super) fn tokens(name: &Name) -> String {
    prefixed("redisson_lock_token", name)
}

/// The keys with the line of a fair lock: who waits, and until when each of them is believed to.
pub(super) fn line(name: &Name) -> [String; 2] {
    ["redisson_lock_queue", "redisson_lock_timeout"].map(|prefix| prefixed(prefix, name))
}

/// Redisson's rule, which keeps all keys of a name in the slot of the name: a name with a brace may have a hash tag of its own.
fn tagged(name: &Name) -> String {
    if name.contains('{') { name.to_string() } else { format!("{{{name}}}") }
}

fn prefixed(prefix: &str, name: &Name) -> String {
    format!("{prefix}:{}", tagged(name))
}

fn suffixed(name: &Name, suffix: &str) -> String {
    format!("{}:{suffix}", tagged(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_name_with_a_brace_gets_no_others() {
        let name = |text| Name::new(text).expect("good");
        assert_eq!(channel(Recipe::Lock, &name("orders")), "redisson_lock__channel:{orders}");
        assert_eq!(channel(Recipe::RwLock, &name("orders")), "redisson_rwlock:{orders}");
        assert_eq!(lease(&name("orders"), "u:1", 2), "{orders}:u:1:rwlock_timeout:2");
        assert_eq!(lease(&name("{shop}:a"), "u:1", 1), "{shop}:a:u:1:rwlock_timeout:1");
        assert_eq!(tokens(&name("orders")), "redisson_lock_token:{orders}");
        assert_eq!(line(&name("orders")), ["redisson_lock_queue:{orders}", "redisson_lock_timeout:{orders}"]);
        assert_eq!(permits(&name("orders")), ["{orders}:timeout", "{orders}:cotter_limit"]);
        assert_eq!(permits(&name("{shop}:a"))[0], "{shop}:a:timeout");
        assert_eq!(channels_in_line(&name("{shop}:a")), "redisson_lock__channel:{shop}:a:");
        assert_eq!(channel(Recipe::Fenced, &name("{shop}:orders")), "redisson_lock__channel:{shop}:orders");
        assert_eq!(tokens(&name("orders}")), "redisson_lock_token:{orders}}");
    }

    #[test]
    fn an_owner_is_a_uuid_and_a_number() {
        let claim = Claim::new(Name::new("a").expect("good"), Mode::Exclusive, Duration::from_secs(1));
        for _ in 0..100 {
            let uuid = Uuid::random();
            let owner = uuid.owner(Recipe::Lock, &claim);
            assert_eq!(uuid.owner(Recipe::RwLock, &claim), format!("{owner}:write"));
            let (text, number) = owner.split_at(36);
            assert_eq!(text, uuid.to_string());
            assert!(matches!(text.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{text}");
            assert!(number[1..].parse::<u64>().is_ok() && is_ours(owner.as_bytes()), "{owner}");
        }
        assert!(!is_ours(b"6c1f7c5e-2a44-4b6c-8a55-1c2b7d1f0a11:1") && !is_ours(b"me"));
    }
}
