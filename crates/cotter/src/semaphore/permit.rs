//! The permits that are held.

use crate::Guard;
use crate::guard::guard_newtype;

/// One or several permits of a [`Semaphore`](super::Semaphore), held together. Dereferences to [`Guard`]: it can be
/// checked, extended, and so on in the same way.
///
/// All of its permits are given back at once, when it is dropped or [released](Self::release).
///
/// **The [token](Guard::token) identifies the permit and is not a fence.** It is larger than those of all earlier permits of
/// the name, but the other holders are not stale: several tokens are good at the same time, so a resource that rejects
/// smaller ones would reject holders in their own right. [`Fence`](crate::Fence) therefore admits every permit. What the
/// token is good for: logs, and [`EvictOrder::only`](crate::EvictOrder::only).
#[must_use = "a permit that is dropped at once is given back at once"]
#[derive(Debug)]
pub struct Permit(Guard);

guard_newtype!(Permit, "the permits");
