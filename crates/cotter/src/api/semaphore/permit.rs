//! The permits that are held.

use crate::Guard;
use crate::api::guard::guard_newtype;

/// One or more permits of a [`Semaphore`](super::Semaphore), held together. Dereferences to [`Guard`]: it can be
/// checked, extended, and so on in the same way.
///
/// All permits are given back together, when this is dropped or [released](Self::release).
///
/// ```
/// # use cotter::Client;
/// # fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").wait()?;
/// let imports = client.semaphore("imports", 3);
/// let permit = imports.clone().take(2).acquire().wait()?;
/// permit.check()?; // stops here once the permits are lost
/// assert!(imports.clone().take(2).try_acquire().wait()?.is_none(), "one is left");
/// permit.finish().wait()?; // gives back both
/// # Ok(()) }
/// ```
///
/// **The [token](Guard::token) identifies the permit and is not a fence.** It is larger than those of all earlier
/// permits of the name, but the other holders are not stale: several tokens are valid at the same time, so a resource
/// that rejects smaller ones would reject rightful holders. [`Fence`](crate::Fence) therefore admits every permit. The
/// token is useful in logs, and for [`EvictOrder::only`](crate::EvictOrder::only).
#[must_use = "a permit that is dropped at once is given back at once"]
#[derive(Debug)]
pub struct Permit(Guard);

guard_newtype!(Permit, "the permits");
