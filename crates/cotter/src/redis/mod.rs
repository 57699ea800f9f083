//! Locks in a Redis server (or Valkey).
//!
//! | `mode=` | protocol |
//! |---|---|
//! | `native` (default) | fenced, first come first served, handed over with one message |
//! | `plain` | `SET name value NX PX`, compare-and-delete: what most hand-written code and small libraries speak |
//! | `getset` | `SETNX` and `GETSET` of an expiry in client time: the oldest protocol, with [three flaws](Mode::GetSet) |
//!
//! | file | concept |
//! |---|---|
//! | `options`, `address` | what a URL says |
//! | `socket`, `tls` | the way to the server, and knowing that it was closed |
//! | `maker` | how a connection is made |
//! | `connection` | one connection, and knowing when it was replaced |
//! | `errors` | what an error of the server means |
//! | `script` | the atomic steps in `lua/` |
//! | `names`, `state` | names as keys; strings of the store taken apart |
//! | `inflight` | claims that wait, hold, or were not answered |
//! | `claims`, `calls` | maps by claim id; questions that outlive whoever asked |
//! | `wake` | the subscription that wakes those who wait |
//! | `backend`, `waiting` | the contract in native mode, and waiting |
//! | `notes`, `admin`, `doctor` | values beside names; looking and evicting; what is worth knowing |
//! | `older/` | the two older protocols |

mod address;
mod admin;
mod backend;
mod calls;
mod claims;
mod connection;
mod doctor;
mod errors;
mod inflight;
mod maker;
mod names;
mod notes;
mod older;
mod options;
mod script;
mod socket;
mod state;
mod tls;
mod waiting;
mod wake;

pub use options::Mode;

use crate::Result;
use crate::backend::{Backend, Connect, Host};
use async_trait::async_trait;
use options::Options;
use std::fmt;
use std::sync::Arc;

/// The scheme that errors and `info()` name, whatever the URL began with.
const SCHEME: &str = "redis";

/// A Redis server: where it is and how to speak to it.
///
/// Clones, and all clients that are built on them, speak of the same claims: one may release what the other got.
#[derive(Clone)]
pub struct Store(Arc<Shared>);

/// What all connections of one store share.
struct Shared {
    server: socket::Server,
    options: Options,
    desk: Arc<inflight::Desk>,
    sold: older::polling::Sold,
}

impl Store {
    /// The store of a URL. Nothing is sent yet.
    ///
    /// `redis://[user[:password]@]host[:port][/db]`, `rediss://` (TLS), or `unix:///path`, and behind a question mark
    /// any of these:
    ///
    /// | option | meaning | default |
    /// |---|---|---|
    /// | `mode` | `native`, `plain` or `getset` | `native` |
    /// | `prefix` | what native keys and channels begin with | `cotter` |
    /// | `retain` | how long a free name is remembered | `1m` |
    /// | `retry` | how often `plain` and `getset` ask after a second of waiting; before, up to ten times as often | `50ms`, `10ms` |
    /// | `connect_timeout` | for one connection | `2s` |
    /// | `timeout` | for one answer | `2s` |
    /// | `ca` | a PEM file of the authorities to trust, instead of the system's | |
    /// | `cert`, `key` | PEM files of a client certificate and its key | |
    /// | `client_name` | what `CLIENT LIST` shows | `cotter` |
    /// | `request_id` | with `plain`: the value to store, instead of a new one for every attempt; claims of several clients are not told apart then | |
    /// | `password_file` | a file with the password, instead of one in the URL | |
    /// | `db` | the database, for `unix:` | `0` |
    ///
    /// User, password, path and options are percent-decoded.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names the part that is wrong and never repeats the password.
    pub fn from_url(url: impl AsRef<str>) -> Result<Self> {
        let (server, options) = options::parse(url.as_ref())?;
        Ok(Self::new(server, options))
    }

    /// The store of a client of the `redis` crate, in native mode with the defaults of [`from_url`](Self::from_url).
    /// Only its address and credentials are used: timeouts, retries and connections are cotter's own. One that was made
    /// for TLS needs a rustls provider that the application has installed for its process.
    ///
    /// This is the one place where that crate shows: its next major version will change this signature.
    pub fn from_client(client: redis::Client) -> Self {
        let instance = address::instance(&client);
        Self::new(socket::Server::of(client), Options::new(instance))
    }

    /// The same store, spoken to in another way.
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        let Shared { server, options, .. } = &*self.0;
        Self::new(server.clone(), Options { mode, ..options.clone() })
    }

    fn new(server: socket::Server, options: Options) -> Self {
        if options.mode == Mode::GetSet {
            older::getset::warn(&options.instance);
        }
        let (desk, sold) = (Arc::default(), older::polling::Sold::default());
        Self(Arc::new(Shared { server, options, desk, sold }))
    }
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let clock = host.clock();
        let Shared { server, options, .. } = &*self.0;
        let link = connection::Link::open(server, options, clock).await;
        let link = link.map_err(|e| e.with_server(&options.instance))?;
        Ok(match options.mode {
            Mode::Native => Arc::new(backend::Native::new(link, self.0.clone(), clock.clone())),
            Mode::Plain => Arc::new(older::plain::Plain::new(link, self.0.clone(), clock.clone())),
            Mode::GetSet => Arc::new(older::getset::GetSet::new(link, self.0.clone(), clock.clone())),
        })
    }
}

/// Without the password.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}
