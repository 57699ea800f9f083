//! The requests of a connection.

use super::carried::Needs;
use super::headers::Answer;
use super::messages::{
    AuthenticateRequest, AuthenticateResponse, CompactRequest, CompactResponse, LeaseGrantRequest,
    LeaseGrantResponse, LeaseRevokeRequest, LeaseRevokeResponse, LeaseTimeToLiveRequest, Operation,
    RangeRequest, Request, StatusRequest, StatusResponse, TxnRequest,
};
use super::refusals::{compacted, future_revision, no_login, unknown};
use super::requests::{delete, put, range, txn};
use super::server::{Leads, MEMBER, Server, State};
use super::{keep_alive, watching};
use hyper::body::Incoming;
use std::future::Future;
use std::pin::Pin;
use tonic::body::Body;
use tonic::server::{Grpc, UnaryService};
use tonic::{Response, Status};
use tonic_prost::ProstCodec;

pub(super) type Incomings = http::Request<Incoming>;
pub(super) type Soon<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Answers one request.
pub(super) async fn route(server: Server, request: Incomings) -> http::Response<Body> {
    let leads = *server.0.leads.borrow();
    match request.uri().path() {
        "/etcdserverpb.KV/Range" => one(server, request, of_range, |state, q| range(&state.keys, &q)).await,
        "/etcdserverpb.KV/Put" => {
            let work = |state: &mut State, q| {
                let (answer, change) = put(&mut state.keys, &state.leases, &q)?;
                state.changed(change.as_ref());
                Ok(answer)
            };
            one(server, request, |_| Needs::Majority, work).await
        }
        "/etcdserverpb.KV/DeleteRange" => {
            let work = |state: &mut State, q| {
                let (answer, change) = delete(&mut state.keys, &q)?;
                state.changed(change.as_ref());
                Ok(answer)
            };
            one(server, request, |_| Needs::Majority, work).await
        }
        "/etcdserverpb.KV/Txn" => {
            let work = |state: &mut State, q| {
                let (answer, change) = txn(&mut state.keys, &state.leases, &q)?;
                state.changed(change.as_ref());
                Ok(answer)
            };
            one(server, request, of_txn, work).await
        }
        "/etcdserverpb.KV/Compact" => one(server, request, |_| Needs::Majority, compact).await,
        "/etcdserverpb.Lease/LeaseGrant" => one(server, request, |_| Needs::Majority, grant).await,
        "/etcdserverpb.Lease/LeaseRevoke" => {
            let work = |state: &mut State, q: LeaseRevokeRequest| {
                state.revoke(q.id).map(|()| LeaseRevokeResponse::default())
            };
            one(server, request, |_| Needs::Majority, work).await
        }
        "/etcdserverpb.Lease/LeaseTimeToLive" => {
            let work = |state: &mut State, q: LeaseTimeToLiveRequest| {
                let mut answer = state.leases.time_to_live(q.id);
                if q.keys {
                    answer.keys = state.keys.on_lease(q.id);
                }
                Ok(answer)
            };
            one(server, request, |_| Needs::Leader, work).await
        }
        "/etcdserverpb.Maintenance/Status" => {
            one(server, request, |_| Needs::Member, move |state, q| Ok(status(state, leads, &q))).await
        }
        "/etcdserverpb.Auth/Authenticate" => {
            let work = |_: &mut State, _: AuthenticateRequest| Err::<AuthenticateResponse, _>(no_login());
            one(server, request, |_| Needs::Member, work).await
        }
        "/etcdserverpb.Lease/LeaseKeepAlive" => keep_alive::stream(server, request).await,
        "/etcdserverpb.Watch/Watch" => watching::stream(server, request).await,
        _ => unknown().into_http(),
    }
}

fn of_range(range: &RangeRequest) -> Needs {
    if range.serializable { Needs::Knowledge } else { Needs::Leader }
}

/// One that only reads is not written down, if no other is in it.
fn of_txn(txn: &TxnRequest) -> Needs {
    let ranges = |operations: &[Operation]| {
        let needs = operations.iter().map(|operation| match &operation.request {
            Some(Request::Range(range)) => of_range(range),
            _ => Needs::Majority,
        });
        needs.max().unwrap_or(Needs::Knowledge)
    };
    ranges(&txn.success).max(ranges(&txn.failure))
}

fn compact(state: &mut State, request: CompactRequest) -> Result<CompactResponse, Status> {
    match request.revision {
        revision if revision <= state.keys.compacted => return Err(compacted()),
        revision if revision > state.keys.revision => return Err(future_revision()),
        revision => state.keys.compact(revision),
    }
    Ok(CompactResponse::default())
}

fn grant(state: &mut State, request: LeaseGrantRequest) -> Result<LeaseGrantResponse, Status> {
    let (id, ttl) = state.leases.grant(&request)?;
    Ok(LeaseGrantResponse { id, ttl, ..LeaseGrantResponse::default() })
}

fn status(state: &State, leads: Leads, _: &StatusRequest) -> StatusResponse {
    let has_leader = leads != Leads::No;
    StatusResponse {
        version: "3.4.23".to_owned(),
        leader: if has_leader { MEMBER } else { 0 },
        raft_term: state.term,
        errors: if has_leader { Vec::new() } else { vec!["etcdserver: no leader".to_owned()] },
        ..StatusResponse::default()
    }
}

/// Answers one question.
async fn one<Q, A>(
    server: Server,
    request: Incomings,
    needs: impl Fn(&Q) -> Needs + Send + 'static,
    work: impl FnOnce(&mut State, Q) -> Result<A, Status> + Send + 'static,
) -> http::Response<Body>
where
    Q: prost::Message + Default + 'static,
    A: Answer,
{
    let answer: Work<Q, A> = Box::new(move |question| {
        Box::pin(async move { server.carry_out(needs(&question), move |state| work(state, question)).await })
    });
    Grpc::new(ProstCodec::<A, Q>::default()).unary(One(Some(answer)), request).await
}

type Work<Q, A> = Box<dyn FnOnce(Q) -> Soon<Result<A, Status>> + Send>;

/// Answers one question and no other.
struct One<Q, A>(Option<Work<Q, A>>);

impl<Q, A: 'static> UnaryService<Q> for One<Q, A> {
    type Response = A;
    type Future = Soon<Result<Response<A>, Status>>;

    fn call(&mut self, request: tonic::Request<Q>) -> Self::Future {
        let answering = self.0.take().map(|work| work(request.into_inner()));
        Box::pin(async move {
            let Some(answering) = answering else { return Err(unknown()) };
            answering.await.map(Response::new)
        })
    }
}
