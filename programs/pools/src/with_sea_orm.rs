use crate::order::{Column, Entity};
use cotter::FencingToken;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseConnection, DbBackend, DbErr, EntityTrait, QueryFilter, Statement,
    TransactionTrait,
};

pub async fn close(db: &DatabaseConnection, order: i64, token: FencingToken) -> Result<bool, DbErr> {
    let token = token.as_i64();
    let update = Entity::update_many()
        .col_expr(Column::State, Expr::value("paid"))
        .col_expr(Column::Fence, Expr::value(token))
        .filter(Column::Id.eq(order))
        .filter(Column::Fence.lte(token));
    Ok(update.exec(db).await?.rows_affected == 1)
}

pub async fn clear(db: &DatabaseConnection, lock: &str) -> Result<u64, DbErr> {
    let transaction = db.begin().await?;
    let name = ["clear-orders".into()];
    let lock = Statement::from_sql_and_values(DbBackend::Postgres, lock, name);
    transaction.query_one_raw(lock).await?;
    let deleted = Entity::delete_many().filter(Column::State.eq("paid")).exec(&transaction).await?;
    transaction.commit().await?;
    Ok(deleted.rows_affected)
}
