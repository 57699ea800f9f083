//! From a URL to a store.

use crate::backend::Connect;
use crate::error::config;
use crate::{Result, memory};
use std::sync::Arc;

/// Which store a URL means. Says which part is wrong; the rest of the URL is not repeated, it may hold a password.
pub(crate) fn parse(url: &str) -> Result<Arc<dyn Connect>> {
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(config(format!("the store URL has no scheme; {KNOWN}")));
    };
    match scheme {
        "memory" => memory(rest),
        #[cfg(feature = "file")]
        "file" => Ok(Arc::new(crate::file::Store::from_url(rest)?)),
        #[cfg(feature = "file")]
        "flock" => Ok(Arc::new(crate::file::Flock::from_url(rest)?)),
        #[cfg(feature = "redis")]
        "redis" | "rediss" | "unix" => Ok(Arc::new(crate::redis::Store::from_url(url)?)),
        _ => Err(config(format!("the scheme {scheme:?} of the store URL is not known; {KNOWN}"))),
    }
}

const KNOWN: &str = match (cfg!(feature = "file"), cfg!(feature = "redis")) {
    (true, true) => "try memory:, file:///DIR, flock:/PATH or redis://HOST",
    (true, false) => "try memory:, file:///DIR or flock:/PATH",
    (false, true) => "try memory: or redis://HOST",
    (false, false) => "try memory:",
};

fn memory(rest: &str) -> Result<Arc<dyn Connect>> {
    if !rest.is_empty() {
        return Err(config("memory: takes nothing behind the colon; write just memory:"));
    }
    Ok(Arc::new(memory::Store::new()))
}
