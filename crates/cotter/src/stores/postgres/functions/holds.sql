-- Modes row and advisory: whether the session that took a name still holds it. A row that was restored from another server may
-- name a transaction that this one has not reached yet, and whose status must not be asked for.
create or replace function {cotter}_holds_v1(p_key bigint, p_pid integer, p_xid text) returns boolean
language sql as $$
  select case when p_xid::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) then false
    when p_xid is not null then coalesce(pg_xact_status(p_xid::xid8) = 'in progress', false)
    else exists (select from pg_locks where locktype = 'advisory' and granted and pid = p_pid and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())
      and classid::bigint = (p_key >> 32) & 4294967295 and objid::bigint = p_key & 4294967295) end
$$;
