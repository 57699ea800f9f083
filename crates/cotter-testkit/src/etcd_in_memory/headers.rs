//! What all answers have.

use super::messages::{
    AuthenticateResponse, CompactResponse, DeleteResponse, Header, LeaseGrantResponse,
    LeaseKeepAliveResponse, LeaseRevokeResponse, LeaseTimeToLiveResponse, PutResponse, RangeResponse,
    StatusResponse, TxnResponse, WatchResponse,
};

/// An answer.
pub trait Answer: prost::Message + Default + 'static {
    /// Which cluster and which of its revisions it is of.
    fn header(&mut self) -> &mut Option<Header>;
}

macro_rules! answers {
    ($($name:ident)*) => {
        $(impl Answer for $name {
            fn header(&mut self) -> &mut Option<Header> {
                &mut self.header
            }
        })*
    };
}

answers! {
    AuthenticateResponse CompactResponse DeleteResponse LeaseGrantResponse LeaseKeepAliveResponse LeaseRevokeResponse
    LeaseTimeToLiveResponse PutResponse RangeResponse StatusResponse TxnResponse WatchResponse
}
