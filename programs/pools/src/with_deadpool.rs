use anyhow::Result;
use cotter::FencingToken;
use deadpool_postgres::Pool;

pub async fn close(pool: &Pool, order: i64, token: FencingToken) -> Result<bool> {
    let update = "update orders set state = 'paid', fence = $1 where id = $2 and fence <= $1";
    let updated = pool.get().await?.execute(update, &[&token.as_i64(), &order]).await?;
    Ok(updated == 1)
}

pub async fn clear(pool: &Pool, lock: &str) -> Result<u64> {
    let mut db = pool.get().await?;
    let transaction = db.transaction().await?;
    transaction.query_one(lock, &[&"clear-orders"]).await?;
    let deleted = transaction.execute("delete from orders where state = 'paid'", &[]).await?;
    transaction.commit().await?;
    Ok(deleted)
}
