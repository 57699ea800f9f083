//! A connection to a database, whichever it is. Statements contain nothing but numbers and names of this demonstration, so nothing
//! has to be bound.

use super::address::Address;
use crate::store::Store;
use cotter_console::{Exit, Failure, chain};
use std::error::Error;
use std::time::Duration;

/// How long a statement waits for a lock.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) enum Connection {
    #[cfg(feature = "postgres")]
    Postgres(tokio_postgres::Client),
    #[cfg(feature = "mysql")]
    Mysql(Box<mysql_async::Conn>),
    Sqlite(rusqlite::Connection),
}

impl Connection {
    pub(super) async fn open(store: &dyn Store) -> Result<Self, Failure> {
        match Address::of(store.secret_url())? {
            #[cfg(feature = "postgres")]
            Address::Postgres(url, password) => Self::postgres(&url, password).await,
            #[cfg(feature = "mysql")]
            Address::Mysql(url, password) => Self::mysql(&url, password).await,
            Address::Sqlite(path) => {
                let opened = rusqlite::Connection::open(path).map_err(broken)?;
                opened.busy_timeout(TIMEOUT).map_err(broken)?;
                Ok(Self::Sqlite(opened))
            }
            // The store has been refused already.
            #[cfg(not(all(feature = "postgres", feature = "mysql")))]
            _ => Err(Failure::usage("this cotter was built without that store")),
        }
    }

    #[cfg(feature = "postgres")]
    async fn postgres(url: &str, password: Option<String>) -> Result<Self, Failure> {
        let mut config: tokio_postgres::Config = url.parse().map_err(broken)?;
        if let Some(password) = password {
            config.password(password);
        }
        let (client, driver) = config.connect(tokio_postgres::NoTls).await.map_err(broken)?;
        tokio::spawn(driver);
        let mut connection = Self::Postgres(client);
        connection.run("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
        Ok(connection)
    }

    #[cfg(feature = "mysql")]
    async fn mysql(url: &str, password: Option<String>) -> Result<Self, Failure> {
        let mut opts = mysql_async::OptsBuilder::from_opts(mysql_async::Opts::from_url(url).map_err(broken)?);
        if let Some(password) = password {
            opts = opts.pass(Some(password));
        }
        let opened = mysql_async::Conn::new(opts.prefer_socket(false)).await.map_err(broken)?;
        let mut connection = Self::Mysql(Box::new(opened));
        connection.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
        Ok(connection)
    }

    /// What begins a transaction that locks what it reads. SQLite has no locks on rows: who writes has the database alone.
    pub(super) const fn begin(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "BEGIN IMMEDIATE",
            #[cfg(any(feature = "postgres", feature = "mysql"))]
            _ => "BEGIN",
        }
    }

    /// The end of a `SELECT` that locks its rows until the end of the transaction.
    pub(super) const fn for_update(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "",
            #[cfg(any(feature = "postgres", feature = "mysql"))]
            _ => " FOR UPDATE",
        }
    }

    /// Runs one statement.
    pub(super) async fn run(&mut self, statement: &str) -> Result<(), Failure> {
        self.numbers(statement).await.map(drop)
    }

    /// Runs one statement, and returns its rows, which consist of numbers.
    pub(super) async fn numbers(&mut self, statement: &str) -> Result<Vec<Vec<i64>>, Failure> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(client) => {
                let answers = client.simple_query(statement).await.map_err(broken)?;
                let row = |answer: &tokio_postgres::SimpleQueryMessage| match answer {
                    tokio_postgres::SimpleQueryMessage::Row(row) => {
                        Some((0..row.len()).map(|at| row.get(at)?.parse().ok()).collect())
                    }
                    _ => None,
                };
                answers.iter().filter_map(row).map(|row: Option<_>| row.ok_or_else(no_number)).collect()
            }
            #[cfg(feature = "mysql")]
            Self::Mysql(conn) => {
                use mysql_async::prelude::Queryable;
                let rows: Vec<mysql_async::Row> = conn.query(statement).await.map_err(broken)?;
                let row = |row: &mysql_async::Row| -> Option<Vec<i64>> {
                    (0..row.len()).map(|at| row.get(at)).collect()
                };
                rows.iter().map(|found| row(found).ok_or_else(no_number)).collect()
            }
            Self::Sqlite(connection) => {
                let mut prepared = connection.prepare(statement).map_err(broken)?;
                let columns = prepared.column_count();
                let rows = prepared.query_map([], |row| (0..columns).map(|at| row.get(at)).collect());
                rows.map_err(broken)?.collect::<Result<_, _>>().map_err(broken)
            }
        }
    }
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
fn no_number() -> Failure {
    broken("an answer that is not a number")
}

fn broken(error: impl Into<Box<dyn Error + Send + Sync>>) -> Failure {
    let why = chain(&*error.into());
    Failure::new(Exit::Unreachable, format!("the tables of orders cannot be created or used: {why}"))
}
