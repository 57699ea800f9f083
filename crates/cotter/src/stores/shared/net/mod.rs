//! Shared by stores with a server or with options: the parts of a URL, sockets, and TLS.
//!
//! | file | concept |
//! |---|---|
//! | `url` | the parts of a URL before its query, and what other programs write into it |
//! | `decode` | percent-decoding |
//! | `options` | the query of a URL: its pairs, and values that several stores have |
//! | `blocking` | what happens in a thread of its own: looking up hosts, reading files |
//! | `password`, `callback` | the password, and where it comes from; asking a callback of the application for it |
//! | `connect_attempt` | one attempt to connect, and why it has failed |
//! | `listening` | what listens where a store could not be connected to |
//! | `hosts` | hosts that answer and carry nothing out |
//! | `idle` | connections that nobody has driven for a while |
//! | `link` | the current connection to a server, replaced when it breaks |
//! | `members` | connecting to one of the members of a cluster |
//! | `one_server` | which of the addresses of a name is the server that accepts writes |
//! | `survey` | which servers the addresses of a URL lead to |
//! | `load` | how many requests wait for their answers |
//! | `pool` | the connections of one runtime |
//! | `listeners` | who listens to a subscription, and for how long nobody has; channels on which messages arrive |
//! | `tcp` | hosts, and connecting to them |
//! | `simulated` | a network that a simulation puts in the place of the system's |
//! | `certificates`, `pem` | TLS configuration; certificates that an application passes in code |
//! | `tls`, `named` | what goes wrong in TLS; a server whose own certificate is named as trusted |

#[cfg(feature = "server")]
mod blocking;
#[cfg(feature = "server")]
mod callback;
#[cfg(feature = "server")]
mod certificates;
#[cfg(any(feature = "redis", feature = "etcd", feature = "zookeeper"))]
mod connect_attempt;
mod decode;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod hosts;
#[cfg(any(feature = "redis", feature = "postgres"))]
mod idle;
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
mod link;
#[cfg(any(feature = "redis", feature = "postgres"))]
mod listeners;
#[cfg(feature = "server")]
mod listening;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod load;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod members;
#[cfg(feature = "server")]
mod named;
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
mod one_server;
mod options;
#[cfg(feature = "server")]
mod password;
#[cfg(feature = "server")]
mod pem;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod pool;
#[cfg(all(feature = "conformance", feature = "server"))]
pub(crate) mod simulated;
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
mod survey;
#[cfg(any(feature = "redis", feature = "etcd", feature = "postgres", feature = "zookeeper"))]
mod tcp;
#[cfg(feature = "server")]
mod tls;
#[cfg(feature = "server")]
mod url;

#[cfg(feature = "mysql")]
pub(crate) use blocking::addresses;
#[cfg(feature = "server")]
pub(crate) use certificates::Certificates;
#[cfg(any(feature = "redis", feature = "etcd", feature = "zookeeper"))]
pub(crate) use connect_attempt::ConnectAttempt;
pub(crate) use decode::decode;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use hosts::{AtHost, Hosts};
#[cfg(any(feature = "redis", feature = "postgres"))]
pub(crate) use idle::Idle;
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
pub(crate) use link::{Link, Live, Open, next_number, timed_out};
#[cfg(any(feature = "redis", feature = "postgres"))]
pub(crate) use listeners::{Listener, Listeners, OpenChannels};
#[cfg(feature = "server")]
pub(crate) use listening::Listening;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use load::Load;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
pub(crate) use members::any_member;
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
pub(crate) use one_server::{Found, one_server};
#[cfg(feature = "server")]
pub(crate) use options::clamp;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use options::connections;
#[cfg(feature = "zookeeper")]
pub(crate) use options::read_first_password;
#[cfg(feature = "server")]
pub(crate) use options::word;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
pub(crate) use options::yes_or_no;
pub(crate) use options::{duration, pairs};
#[cfg(feature = "server")]
pub(crate) use password::Password;
#[cfg(feature = "server")]
pub use pem::Tls;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use pool::{Pool, Pooled};
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
pub(crate) use survey::{Surveyed, ask_all, of_addresses, read_only};
#[cfg(all(feature = "redis", target_os = "linux"))]
pub(crate) use tcp::USER_TIMEOUT;
#[cfg(any(feature = "redis", feature = "etcd", feature = "postgres", feature = "zookeeper"))]
pub(crate) use tcp::{HostPort, Stream};
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
pub(crate) use tls::refused;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use tls::verifies;
#[cfg(feature = "redis")]
pub(crate) use url::{ENCODE, check_end_of_password};
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
pub(crate) use url::{Meaning, in_our_words, is_of_a_pool};
#[cfg(feature = "server")]
pub(crate) use url::{Url, readable, split};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use url::{is_local, is_number};
