//! Fenced updates, and locks inside of transactions, on the connections of an application's own pool: each of five.

mod order;
mod schema;
mod with_deadpool;
mod with_diesel;
mod with_diesel_async;
mod with_sea_orm;
mod with_sqlx;

use anyhow::{Context, Result, ensure};
use cotter::{Client, FencingToken, postgres};
use deadpool_postgres::tokio_postgres::{Config, NoTls};
use diesel::r2d2::ConnectionManager;
use std::env;
use tokio::task::block_in_place;

#[tokio::main]
async fn main() -> Result<()> {
    let url = env::var("DATABASE_URL").context("DATABASE_URL is not set")?;
    let locks = Client::connect(&url).await?;
    let lock = postgres::Store::from_url(&url)?.with_options("mode=row")?.lock_statement()?;

    let db = sqlx::PgPool::connect(&url).await?;
    let [stale, token] = tokens(&locks).await?;
    let closed = [with_sqlx::close(&db, 1, token).await?, with_sqlx::close(&db, 1, stale).await?];
    report("sqlx", closed, with_sqlx::clear(&db, &lock).await?)?;

    let settings: Config = url.parse()?;
    let locks = Client::builder().connect_to(postgres::Store::from_config(settings.clone())?).await?;
    let manager = deadpool_postgres::Manager::new(settings, NoTls);
    let pool = deadpool_postgres::Pool::builder(manager).build()?;
    let [stale, token] = tokens(&locks).await?;
    let closed = [with_deadpool::close(&pool, 2, token).await?, with_deadpool::close(&pool, 2, stale).await?];
    report("deadpool", closed, with_deadpool::clear(&pool, &lock).await?)?;

    let pool = block_in_place(|| diesel::r2d2::Pool::new(ConnectionManager::new(&url)))?;
    let [stale, token] = tokens(&locks).await?;
    let (closed, cleared) = block_in_place(|| {
        let mut db = pool.get()?;
        let closed = [with_diesel::close(&mut db, 3, token)?, with_diesel::close(&mut db, 3, stale)?];
        anyhow::Ok((closed, with_diesel::clear(&mut db, &lock)?))
    })?;
    report("diesel", closed, cleared as u64)?;

    let manager = diesel_async::pooled_connection::AsyncDieselConnectionManager::new(&url);
    let pool = diesel_async::pooled_connection::deadpool::Pool::builder(manager).build()?;
    let mut db = pool.get().await?;
    let [stale, token] = tokens(&locks).await?;
    let closed = [
        with_diesel_async::close(&mut db, 4, token).await?,
        with_diesel_async::close(&mut db, 4, stale).await?,
    ];
    report("diesel-async", closed, with_diesel_async::clear(&mut db, &lock).await? as u64)?;

    let db = sea_orm::Database::connect(&url).await?;
    let [stale, token] = tokens(&locks).await?;
    let closed = [with_sea_orm::close(&db, 5, token).await?, with_sea_orm::close(&db, 5, stale).await?];
    report("sea-orm", closed, with_sea_orm::clear(&db, &lock).await?)
}

/// Those of a holder that was paused for too long, and of the one after it.
async fn tokens(locks: &Client) -> cotter::Result<[FencingToken; 2]> {
    let stale = locks.mutex("order").lock().await?.token();
    Ok([stale, locks.mutex("order").lock().await?.token()])
}

fn report(pool: &str, closed: [bool; 2], cleared: u64) -> Result<()> {
    ensure!(closed == [true, false], "{pool}: {closed:?}");
    println!("{pool}: the newest holder writes, an older one does not; {cleared} cleared");
    Ok(())
}
