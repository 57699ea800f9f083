//! Asking the sentinels.

use super::Sentinels;
use super::answer::{Answer, Asked, Known};
use super::master::Named;
use crate::error::config;
use crate::stores::redis::SCHEME;
use crate::stores::redis::connector::Connector;
use crate::stores::redis::errors::{Sent, explain, is_unknown_command, unexpected};
use crate::stores::redis::options::Options;
use crate::stores::redis::socket::Server;
use crate::stores::shared::net::{Password, timed_out};
use crate::{Error, ErrorKind, Result};
use redis::{RedisError, RedisResult, Value};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// The time that the others have once a sentinel has answered: one that is away must not hold up every connection.
const OTHERS: Duration = Duration::from_millis(200);

impl Sentinels {
    /// What each of them says, all asked at once.
    pub(super) async fn ask(&self, options: &Options) -> Vec<Asked> {
        let mut questions = JoinSet::new();
        for (place, (_, server)) in self.each.iter().enumerate() {
            let (server, options, service) = (server.clone(), options.clone(), self.service.clone());
            questions.spawn(async move { (place, question(&server, &options, &service).await) });
        }
        let late = || Err(timed_out("the connection", options.connect_timeout).with_backend(SCHEME));
        let mut answers: Vec<_> = self.each.iter().map(|_| late()).collect();
        // Each question has these limits itself, and knows more about its failure than that it took too long.
        let mut end = Instant::now() + options.connect_timeout + options.timeout + OTHERS;
        while let Ok(Some(asked)) = timeout_at(end, questions.join_next()).await {
            let Ok((place, answer)) = asked else { continue };
            if answer.is_ok() {
                end = end.min(Instant::now() + OTHERS);
            }
            answers[place] = answer;
        }
        let addresses = self.each.iter().map(|(address, _)| address.clone());
        addresses
            .zip(answers)
            .map(|(at, answer)| (at.clone(), answer.map_err(|e| e.with_server(&at))))
            .collect()
    }
}

async fn question(server: &Server, options: &Options, service: &str) -> Result<Answer> {
    let mut both = redis::pipe();
    both.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(service);
    both.cmd("SENTINEL").arg("MASTER").arg(service);
    // The two are answered without anything in between.
    let answered = Connector::new(server, options).connect_and_ask(&mut both).await;
    let (live, answers) = Password::judge(server.password.as_ref(), answered).map_err(refused)?;
    let [address, master] = <[RedisResult<Value>; 2]>::try_from(answers)
        .map_err(|_| unexpected("one answer to two questions"))?;
    match address.map_err(not_understood)? {
        Value::Nil => {
            let list = live.query(redis::cmd("SENTINEL").arg("MASTERS")).await;
            Ok(Answer::Unknown(list.ok().and_then(names)))
        }
        Value::Array(parts) => known(parts, master.ok()).ok_or_else(|| unexpected("no address")),
        other => Err(unexpected(&format!("{other:?}"))),
    }
}

/// What it says of the service. The address is the one that it gives to clients: while a failover ends, it is further on there.
fn known(address: Vec<Value>, master: Option<Value>) -> Option<Answer> {
    let [host, port] = <[Value; 2]>::try_from(address).ok()?;
    let fields = master.and_then(|master| redis::from_redis_value(master).ok()).unwrap_or_default();
    let mut named = Named {
        host: redis::from_redis_value(host).ok()?,
        port: redis::from_redis_value(port).ok()?,
        epoch: 0,
    };
    let known = Known { named: named.clone(), fields };
    named.epoch = known.number("config-epoch").unwrap_or_default() as u64;
    Some(Answer::Master(Box::new(Known { named, ..known })))
}

/// The names of the services.
fn names(list: Value) -> Option<Vec<String>> {
    let services: Vec<std::collections::BTreeMap<String, String>> = redis::from_redis_value(list).ok()?;
    Some(services.into_iter().filter_map(|mut fields| fields.remove("name")).collect())
}

fn not_understood(e: RedisError) -> Error {
    if is_unknown_command(&e) {
        let why = "this is a Redis server and no sentinel, which usually listens on port 26379; write redis:// and its address to \
                   use this server alone";
        return config(why).with_backend(SCHEME);
    }
    refused(explain(e, Sent::No))
}

/// Credentials of the servers are not those of the sentinels.
fn refused(e: Error) -> Error {
    if e.kind() != ErrorKind::Denied {
        return e;
    }
    let why = format!(
        "the sentinel does not let this client in, or denies SENTINEL to its user; its credentials are sentinel_user= and \
         sentinel_password_file= (or sentinel_password=), and not those before the @ ({e})"
    );
    Error::new(ErrorKind::Denied, why).with_backend(SCHEME).with_retryable(e.is_retryable())
}
