//! What is kept about orders.

use cotter::FencingToken;
use sqlx::{PgPool, Result};

pub async fn answers(db: &PgPool) -> Result<()> {
    sqlx::query("select 1").execute(db).await.map(drop)
}

/// Whether the order is still to be paid; `None` if there is no such order.
pub async fn is_open(db: &PgPool, id: i64) -> Result<Option<bool>> {
    let query = sqlx::query_scalar("select state = 'open' from orders where id = $1");
    query.bind(id).fetch_optional(db).await
}

/// Closes the order, unless it is closed or a later holder of its lock has written to it.
pub async fn close(db: &PgPool, id: i64, receipt: &str, token: FencingToken) -> Result<bool> {
    const CLOSE: &str = "update orders set state = 'paid', fence = $1 \
        where id = $2 and state = 'open' and fence <= $1";
    const PAYMENT: &str = "insert into payments (order_id, receipt) values ($1, $2)";
    let mut transaction = db.begin().await?;
    let closed = sqlx::query(CLOSE).bind(token.as_i64()).bind(id).execute(&mut *transaction).await?;
    if closed.rows_affected() == 0 {
        return Ok(false); // which rolls back
    }
    sqlx::query(PAYMENT).bind(id).bind(receipt).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(true)
}
