//! One connection to a server.

use super::reply::Reply;
use super::requests::Requests;
use super::server::Server;

/// One connection to a server. Dropping it ends it.
pub struct Session {
    server: Server,
    number: u64,
    requests: Requests,
}

impl Session {
    pub(super) fn new(server: Server, number: u64) -> Self {
        Self { server, number, requests: Requests::default() }
    }

    /// Carries out the requests in what has come. False at the end of the session.
    pub fn received(&mut self, bytes: &[u8]) -> bool {
        self.requests.received(bytes);
        loop {
            match self.requests.next() {
                Ok(Some(request)) => {
                    if !self.carry_out(&request) {
                        return false;
                    }
                }
                Ok(None) => return true,
                Err(text) => {
                    self.server.state().send(self.number, &[Reply::Error(text)]);
                    return false;
                }
            }
        }
    }

    fn carry_out(&self, request: &[Vec<u8>]) -> bool {
        let replies = match request {
            [name, channels @ ..] if name.eq_ignore_ascii_case(b"SUBSCRIBE") => {
                self.server.state().subscribe(self.number, channels)
            }
            [name, channels @ ..] if name.eq_ignore_ascii_case(b"UNSUBSCRIBE") => {
                self.server.state().unsubscribe(self.number, channels)
            }
            [name] if name.eq_ignore_ascii_case(b"PING") && self.server.state().listens(self.number) => {
                vec![Reply::Array(vec![Reply::bulk("pong"), Reply::bulk("")])]
            }
            request => vec![self.server.answer(request)],
        };
        self.server.log(self.number, request, &replies);
        self.server.state().send(self.number, &replies)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.server.state().end(self.number);
    }
}
