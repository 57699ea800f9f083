use crate::schema::orders;
use cotter::FencingToken;
use diesel::prelude::*;
use diesel::sql_types::Text;

pub fn close(db: &mut PgConnection, order: i64, token: FencingToken) -> QueryResult<bool> {
    let token = token.as_i64();
    let order = orders::table.find(order).filter(orders::fence.le(token));
    let paid = (orders::state.eq("paid"), orders::fence.eq(token));
    Ok(diesel::update(order).set(paid).execute(db)? == 1)
}

pub fn clear(db: &mut PgConnection, lock: &str) -> QueryResult<usize> {
    db.transaction(|db| {
        diesel::sql_query(lock).bind::<Text, _>("clear-orders").execute(db)?;
        diesel::delete(orders::table.filter(orders::state.eq("paid"))).execute(db)
    })
}
