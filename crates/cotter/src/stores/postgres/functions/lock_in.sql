-- Mode row, in a transaction of the caller's own: locks the row of a name until its end. Answers a token.
create or replace function {cotter}_lock_in_v1(p_place text, p_table regclass, p_column text, p_name text) returns bigint
language plpgsql as $$
declare
  v_xid text;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'not read committed' using errcode = 'CT001';
  end if;
  v_xid := {cotter}_row_v1(p_table, p_column, p_name, true);
  if v_xid is null and p_table is null then
    insert into {cotter}_row (name) values (p_name) on conflict do nothing;
    v_xid := {cotter}_row_v1(p_table, p_column, p_name, true);
  end if;
  if v_xid is null then
    raise exception 'no row of % has % in column %', p_table, quote_literal(p_name), p_column using errcode = 'CT004';
  end if;
  return ({cotter}_hold_v1(p_place, p_name, gen_random_uuid(), 1, current_setting('application_name'), null,
    pg_backend_pid(), v_xid))[1];
end $$;
