//! Connecting to one of the members of a cluster.

use crate::{Error, ErrorKind, Result};

/// Returns the first connection that can be made, to a member from `first` on. An error that would be the same everywhere ends the
/// search; of the others, that of the last member, or of the first that can be reached but is not trusted, is returned.
pub(crate) async fn any_member<T, F: Future<Output = Result<T>>>(
    members: usize,
    first: usize,
    open: impl Fn(usize) -> F,
) -> Result<T> {
    let mut failed: Option<Error> = None;
    for member in (0..members).map(|n| (first + n) % members) {
        match open(member).await {
            Ok(opened) => return Ok(opened),
            Err(e) if !e.is_retryable() => return Err(e),
            // One that cannot be reached may be trusted when it can.
            Err(e) if failed.as_ref().is_none_or(is_untrusted) => failed = Some(e),
            Err(_) => {}
        }
    }
    let failed = failed.unwrap_or_else(|| Error::new(ErrorKind::Config, "the URL names no host"));
    Err(if is_untrusted(&failed) { failed.with_retryable(false) } else { failed })
}

/// Whether a certificate was not accepted, the member's or the one of this client. Its other errors of this kind are not worth
/// another try.
fn is_untrusted(e: &Error) -> bool {
    e.kind() == ErrorKind::Denied
}
