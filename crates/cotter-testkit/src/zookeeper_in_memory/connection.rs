//! One connection to a server.

use super::jute::next_message;
use super::server::Server;

/// One connection to a server. Dropping it ends it.
pub struct Connection {
    server: Server,
    number: u64,
    received: Vec<u8>,
    has_greeted: bool,
}

impl Connection {
    pub(super) fn new(server: Server, number: u64) -> Self {
        Self { server, number, received: Vec::new(), has_greeted: false }
    }

    /// Carries out the requests in what has come. False where nobody listens any more.
    pub fn received(&mut self, bytes: &[u8]) -> bool {
        self.received.extend_from_slice(bytes);
        while let Some(message) = next_message(&mut self.received) {
            let is_first = !std::mem::replace(&mut self.has_greeted, true);
            if !self.server.asked(self.number, &message, is_first) {
                return false;
            }
        }
        true
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.server.left(self.number);
    }
}
