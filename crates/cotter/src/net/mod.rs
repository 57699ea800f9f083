//! What all stores with a server share: the parts of a URL, sockets, and TLS.
//!
//! | file | concept |
//! |---|---|
//! | `url` | the parts of a URL before its query |
//! | `options` | the query of a URL: its pairs, and values that several stores have |
//! | `idle` | connections that nobody has driven for a while |
//! | `link` | the current connection to a server, replaced when it breaks |
//! | `tcp` | connecting to a host |
//! | `tls` | TLS configuration |

mod idle;
mod link;
mod options;
mod tcp;
mod tls;
mod url;

pub(crate) use idle::Idle;
pub(crate) use link::{Link, Live, Open, next_number, timed_out};
pub(crate) use options::{clamp, duration, pairs, read, read_password, word};
pub(crate) use tcp::{Stream, connect};
pub(crate) use tls::Certificates;
pub(crate) use url::{Url, decode};
