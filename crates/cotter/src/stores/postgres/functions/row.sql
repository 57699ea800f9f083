-- Mode row: locks the row of a name until the end of the transaction. p_table: a table of the user's own, and its column with the
-- names; null for the table of this store. Answers the transaction; nothing ('') if another one has the row and it is not waited
-- for, which is no error that the server would log; or null if there is no such row.
create or replace function {cotter}_row_v1(p_table regclass, p_column text, p_name text, p_wait boolean) returns text
language plpgsql as $$
declare
  v_rows bigint;
  v_value text;
begin
  if p_table is not null then
    -- As a literal the name gets the type of the column. Other names may mean the same value, as '07' does for a number: they would
    -- be other locks for everything but the row.
    execute format('with locked as (select %2$I::text as value from %1$s where %2$I = %3$L for update %4$s) '
      'select count(*), min(value collate "C") from locked', p_table, p_column, p_name,
      case when not p_wait then 'skip locked' else '' end) into v_rows, v_value;
    if v_rows = 0 and not p_wait then
      execute format('select min(%2$I::text collate "C") from %1$s where %2$I = %3$L', p_table, p_column, p_name) into v_value;
      return case when v_value = p_name collate "C" then '' end;
    end if;
    if v_value <> p_name collate "C" then
      return null;
    end if;
  elsif p_wait then
    perform from {cotter}_row where name = p_name for update;
    get diagnostics v_rows = row_count;
  else
    perform from {cotter}_row where name = p_name for update skip locked;
    get diagnostics v_rows = row_count;
    if v_rows = 0 then
      return case when exists (select from {cotter}_row where name = p_name) then '' end;
    end if;
  end if;
  if v_rows > 1 then
    raise exception '% rows of % have this value in column %', v_rows, p_table, p_column using errcode = 'CT003';
  end if;
  return case when v_rows = 1 then pg_current_xact_id()::text end;
end $$;
