use cotter::FencingToken;
use sqlx::{AssertSqlSafe, PgPool, Result};

pub async fn close(db: &PgPool, order: i64, token: FencingToken) -> Result<bool> {
    let update = "update orders set state = 'paid', fence = $1 where id = $2 and fence <= $1";
    let updated = sqlx::query(update).bind(token.as_i64()).bind(order).execute(db).await?;
    Ok(updated.rows_affected() == 1)
}

pub async fn clear(db: &PgPool, lock: &str) -> Result<u64> {
    let mut transaction = db.begin().await?;
    // A statement that is made at run time has to be vouched for: this one contains no input.
    sqlx::query(AssertSqlSafe(lock)).bind("clear-orders").execute(&mut *transaction).await?;
    let deleted = sqlx::query("delete from orders where state = 'paid'").execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(deleted.rows_affected())
}
