//! Many guards that are renewed: what it costs here and in the server, and whether any is late. In `plain` beside native.

use super::{runtime, server, server_cpu};
use crate::renewal::{GUARDS, TTL, take, watch};
use cotter::{Client, Lease};

pub(crate) fn run() {
    let server = server();
    for mode in ["native", "plain"] {
        let url = server.open_url(if mode == "plain" { "mode=plain" } else { "" });
        let client = Client::builder().lease(Lease::renewed(TTL)).connect(url).wait().unwrap();
        print!("{mode}: ");
        watch(&take(&runtime(), &client, GUARDS), || server_cpu(&server));
    }
}
