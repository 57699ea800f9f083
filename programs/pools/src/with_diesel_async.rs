use crate::schema::orders;
use cotter::FencingToken;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};

pub async fn close(db: &mut AsyncPgConnection, order: i64, token: FencingToken) -> QueryResult<bool> {
    let token = token.as_i64();
    let order = orders::table.find(order).filter(orders::fence.le(token));
    let paid = (orders::state.eq("paid"), orders::fence.eq(token));
    Ok(diesel::update(order).set(paid).execute(db).await? == 1)
}

pub async fn clear(db: &mut AsyncPgConnection, lock: &str) -> QueryResult<usize> {
    db.transaction(async |db| {
        diesel::sql_query(lock).bind::<Text, _>("clear-orders").execute(db).await?;
        diesel::delete(orders::table.filter(orders::state.eq("paid"))).execute(db).await
    })
    .await
}
