//! Many guards that are renewed: what it costs here and in the server, and whether any is late.

use super::{runtime, server, server_cpu};
use crate::renewal::{TTL, take, watch};
use cotter::{Client, Lease};

pub(crate) fn run() {
    let server = server();
    let client =
        Client::builder().url(server.open_url("")).lease(Lease::renewed(TTL)).connect().wait().unwrap();
    watch(&take(&runtime(), &client), || server_cpu(&server));
}
