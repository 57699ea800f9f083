-- Mode row: locks the row of a name until the end of the transaction. p_table: a table of the user's own, and its column with the
-- names; null for the table of this store. Answers the transaction, or null if there is no such row.
create or replace function {cotter}_row_v1(p_table regclass, p_column text, p_name text, p_wait boolean) returns text
language plpgsql as $$
declare
  v_rows bigint;
begin
  if p_table is not null then
    -- As a literal the name gets the type of the column.
    execute format('select from %s where %I = %L for update %s', p_table, p_column, p_name,
      case when not p_wait then 'nowait' else '' end);
  elsif p_wait then
    perform from {cotter}_row where name = p_name for update;
  else
    perform from {cotter}_row where name = p_name for update nowait;
  end if;
  get diagnostics v_rows = row_count;
  if v_rows > 1 then
    raise exception '% rows of % have this value in column %', v_rows, p_table, p_column using errcode = 'CT003';
  end if;
  return case when v_rows = 1 then pg_current_xact_id()::text end;
end $$;
