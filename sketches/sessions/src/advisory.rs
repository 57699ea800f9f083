//! PostgreSQL advisory locks: a session of its own for each claim.

use async_trait::async_trait;
use cotter::backend::flight::Flight;
use cotter::backend::{
    Backend, Capabilities, Claim, ClaimId, Connect, Extension, Grant, Host, Info, Leave, Release, Session,
    Until,
};
use cotter::clock::Moment;
use cotter::{Error, ErrorKind, LossCause, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

/// One nextval is a block of so many tokens.
const BLOCK: u64 = 1024;
const POOL: usize = 4;

#[derive(Debug)]
pub struct Advisory {
    pub config: String,
    /// `idle_session_timeout`.
    pub lasts: Duration,
}

#[async_trait]
impl Connect for Advisory {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let config: Config = self.config.parse().map_err(|e| failed(&e))?;
        let mut info = Info::new("postgres", "advisory");
        info.variant = "postgres in mode=advisory";
        let mut can = Capabilities::default();
        (can.ordered, can.names, can.distinct) = (true, true, true);
        info.capabilities = can;
        let inner = Inner {
            config,
            lasts: self.lasts,
            host: host.clone(),
            seats: Mutex::default(),
            idle: Mutex::default(),
        };
        let this = Backing { inner: Arc::new(inner), info };
        let first = this.inner.open().await?;
        first.run("create sequence if not exists cotter_token").await.or_else(|e| match e.kind() {
            ErrorKind::Protocol => Ok(Vec::new()), // two at once
            _ => Err(e),
        })?;
        this.inner.rest(first);
        Ok(Arc::new(this))
    }
}

#[derive(Debug)]
struct Backing {
    inner: Arc<Inner>,
    info: Info,
}

struct Inner {
    config: Config,
    lasts: Duration,
    host: Host,
    seats: Mutex<HashMap<ClaimId, Arc<Seat>>>,
    idle: Mutex<Vec<Arc<Conn>>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Inner")
    }
}

/// A server session.
struct Conn {
    client: Client,
    session: Session,
    host: Host,
    lasts: Duration,
}

/// What a release needs.
struct Seat {
    conn: OnceLock<Arc<Conn>>,
    call: OnceLock<Flight<Option<(u64, Moment)>>>,
    stray: Mutex<Option<Moment>>,
}

fn failed(e: &tokio_postgres::Error) -> Error {
    let kind = if e.as_db_error().is_some() { ErrorKind::Protocol } else { ErrorKind::Unavailable };
    Error::new(kind, e.to_string()).with_outcome_unknown().with_backend("postgres")
}

impl Conn {
    /// A statement; its answer is a sign of life.
    async fn run(&self, sql: &str) -> Result<Vec<String>> {
        self.ask(sql).await.map_err(|e| failed(&e).with_source(e))
    }

    async fn ask(&self, sql: &str) -> std::result::Result<Vec<String>, tokio_postgres::Error> {
        let as_of = self.host.clock().now();
        let rows = self.client.simple_query(sql).await?;
        self.session.prove(as_of, self.lasts);
        let first = |m| {
            if let SimpleQueryMessage::Row(r) = m { Some(r.get(0).unwrap_or("").to_owned()) } else { None }
        };
        Ok(rows.into_iter().filter_map(first).collect())
    }
}

impl Inner {
    /// On the engine: whoever asks may end before the session does.
    async fn open(self: &Arc<Self>) -> Result<Arc<Conn>> {
        let (tell, told) = oneshot::channel();
        let (config, lasts, host) = (self.config.clone(), self.lasts, self.host.clone());
        self.host.spawn(async move {
            let opened = async {
                let as_of = host.clock().now();
                let (client, connection) = config.connect(NoTls).await.map_err(|e| failed(&e))?;
                let session = Session::new();
                let over = session.clone();
                host.spawn(async move {
                    let _ = connection.await;
                    over.lose(LossCause::SessionLost);
                });
                session.prove(as_of, lasts);
                let conn = Arc::new(Conn { client, session, host: host.clone(), lasts });
                let millis = lasts.as_millis();
                let set = format!(
                    "set idle_session_timeout = {millis}; set client_connection_check_interval = 500"
                );
                conn.run(&set).await?;
                host.spawn(keep(Arc::downgrade(&conn), host.clone(), lasts / 3));
                Ok(conn)
            };
            let _ = tell.send(opened.await);
        });
        told.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Unavailable, "the client is closed")))
    }

    async fn session(self: &Arc<Self>) -> Result<Arc<Conn>> {
        loop {
            let idle = self.idle.lock().unwrap().pop();
            match idle {
                Some(conn) if conn.session.lost().is_none() && !conn.client.is_closed() => return Ok(conn),
                Some(_) => {}
                None => return self.open().await,
            }
        }
    }

    fn rest(&self, conn: Arc<Conn>) {
        let mut idle = self.idle.lock().unwrap();
        if idle.len() < POOL && conn.session.lost().is_none() {
            idle.push(conn);
        }
    }

    fn seat(&self, id: ClaimId) -> Option<Arc<Seat>> {
        self.seats.lock().unwrap().get(&id).cloned()
    }

    /// The whole of an acquisition, as one call.
    async fn lock(
        self: Arc<Self>,
        seat: Weak<Seat>,
        name: String,
        wait: Option<Option<Duration>>,
    ) -> Result<Option<(u64, Moment)>> {
        let conn = self.session().await?;
        let Some(seat) = seat.upgrade() else { return Ok(None) };
        let _ = seat.conn.set(conn.clone());
        drop(seat);
        let key = format!("hashtextextended('{}', 0)", name.replace('\'', "''"));
        let as_of = conn.host.clock().now();
        let number = match wait {
            None => {
                let sql =
                    format!("select case when pg_try_advisory_lock({key}) then nextval('cotter_token') end");
                conn.run(&sql).await?
            }
            Some(left) => {
                let millis = left.map_or(0, |d| (d.as_nanos().div_ceil(1_000_000) + 1).min(i32::MAX as u128));
                match conn.ask(&format!("set lock_timeout = {millis}; select pg_advisory_lock({key})")).await
                {
                    Ok(_) => {}
                    Err(e) if is_over(&e) => return Ok(None),
                    Err(e) => return Err(failed(&e).with_source(e)),
                }
                let as_of = conn.host.clock().now();
                let number = conn.run("select nextval('cotter_token')").await?;
                return Ok(Some((parse(&number)?, as_of)));
            }
        };
        if number[0].is_empty() { Ok(None) } else { Ok(Some((parse(&number)?, as_of))) }
    }
}

fn parse(rows: &[String]) -> Result<u64> {
    let number = rows.first().and_then(|n| n.parse::<u64>().ok());
    number.map(|n| n * BLOCK).ok_or_else(|| Error::new(ErrorKind::Protocol, "no number"))
}

/// Timed out, or cancelled.
fn is_over(e: &tokio_postgres::Error) -> bool {
    e.code().is_some_and(|c| *c == SqlState::LOCK_NOT_AVAILABLE || *c == SqlState::QUERY_CANCELED)
}

async fn keep(conn: Weak<Conn>, host: Host, every: Duration) {
    loop {
        host.clock().sleep_until(host.clock().now() + every).await;
        let Some(conn) = conn.upgrade() else { return };
        if std::env::var_os("SK_NO_KEEPER").is_some()
            || conn.client.is_closed()
            || conn.run("select 1").await.is_err()
        {
            return;
        }
    }
}

#[async_trait]
impl Backend for Backing {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Option<Grant>> {
        if let Err(e) = self.info.supports(claim.mode) {
            return Err(e.with_name(&claim.name));
        }
        let seat = match self.inner.seat(claim.id) {
            Some(seat) => seat,
            None => {
                let seat =
                    Arc::new(Seat { conn: OnceLock::new(), call: OnceLock::new(), stray: Mutex::default() });
                let wait = (until != Until::Now).then(|| until.left(self.inner.host.clock().now()));
                let call = self.inner.clone().lock(Arc::downgrade(&seat), claim.name.to_string(), wait);
                let _ = seat.call.set(Flight::new(call));
                self.inner.seats.lock().unwrap().insert(claim.id, seat.clone());
                seat
            }
        };
        let call = seat.call.get().expect("set above");
        let Some((number, as_of)) = call.land().await? else {
            self.inner.seats.lock().unwrap().remove(&claim.id);
            if let Some(conn) = seat.conn.get() {
                self.inner.rest(conn.clone());
            }
            return Ok(None);
        };
        let mut grant = Grant::new(claim.clone(), number, as_of);
        grant.turns = claim.turns.clamp(1, BLOCK as u16);
        grant.session = seat.conn.get().map(|c| c.session.clone());
        Ok(Some(grant))
    }

    async fn extend(&self, grants: &[&Grant], _ttl: Duration) -> Vec<Result<Extension>> {
        let mut answers = Vec::new();
        for grant in grants {
            let seat = self.inner.seat(grant.claim.id);
            let conn = seat.as_ref().and_then(|s| s.conn.get());
            answers.push(match conn {
                None => Ok(Extension::Lost(LossCause::Gone)),
                Some(conn) => match conn.session.lost() {
                    Some(cause) => Ok(Extension::Lost(cause)),
                    None => {
                        let as_of = conn.session.proof().map_or(grant.as_of, |p| p.0);
                        Ok(Extension::extended(as_of, None))
                    }
                },
            });
        }
        answers
    }

    async fn release(&self, claim: &Claim, _leave: Leave) -> Result<Release> {
        let Some(seat) = self.inner.seat(claim.id) else { return Ok(Release::NotHeld) };
        let call = seat.call.get().expect("set before it is registered");
        let clock = self.inner.host.clock();
        // A statement in flight is cancelled until it answers; its session is not used again.
        let mut cancelled = false;
        let landed = loop {
            let pause = Duration::from_millis(if cancelled { 20 } else { 2 });
            tokio::select! {
                biased;
                landed = call.land() => break landed,
                () = clock.sleep_until(clock.now() + pause) => {}
            }
            if let Some(conn) = seat.conn.get() {
                cancelled = true;
                let _ = conn.client.cancel_token().cancel_query(NoTls).await;
            }
        };
        let forget = || self.inner.seats.lock().unwrap().remove(&claim.id);
        let Some(conn) = seat.conn.get() else {
            forget();
            return Ok(Release::NotHeld);
        };
        if conn.client.is_closed() || conn.session.lost().is_some() {
            // The server lets go when it has noticed.
            let now = clock.now();
            let until = *seat.stray.lock().unwrap().get_or_insert(now + self.inner.lasts);
            if matches!(landed, Err(_)) && now < until {
                return Ok(Release::Unsettled { until });
            }
            forget();
            return Ok(Release::NotHeld);
        }
        let held = matches!(landed, Ok(Some(_)));
        if cancelled {
            // Ended with all it holds: asked of the server, because our own closing proves nothing.
            let _ = conn.run("select pg_advisory_unlock_all()").await;
            let _ = conn.run("select pg_advisory_unlock_all()").await?;
        } else {
            conn.run("select pg_advisory_unlock_all()").await?;
            self.inner.rest(conn.clone());
        }
        forget();
        Ok(if held || cancelled { Release::Freed } else { Release::NotHeld })
    }

    async fn close(&self) {
        self.inner.seats.lock().unwrap().clear();
        self.inner.idle.lock().unwrap().clear();
    }
}
