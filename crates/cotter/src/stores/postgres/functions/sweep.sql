-- Deletes names that nobody has used for a day, among those of some pages. The largest of their tokens is the floor for names that
-- are new: it stands in the row of a name that cannot be, which is never swept. Waits for nobody.
create or replace function {cotter}_sweep_v1() returns integer
language plpgsql as $$
declare
  v_pages double precision; v_names text[]; v_last bigint; v_day timestamptz := clock_timestamp() - interval '1 day';
begin
  insert into {cotter}_lock (name, since) values ('', 'infinity') on conflict do nothing;
  perform from {cotter}_lock where name = '' for update skip locked;
  if not found then return 0; end if;
  select greatest(relpages, 1) into v_pages from pg_class where oid = '{cotter}_lock'::regclass;
  select array_agg(name) into v_names from {cotter}_lock tablesample system (least(100, 1600 / v_pages))
    where not crowd and greatest(since, until) < v_day;
  if v_names is null then return 0; end if;
  with old as (
    select name from {cotter}_lock where name = any(v_names) and not crowd and greatest(since, until) < v_day for update skip locked
  ), gone as (delete from {cotter}_lock as l using old where l.name = old.name returning l.last)
  select max(last), count(*) into v_last, v_pages from gone;
  update {cotter}_lock set last = greatest(last, v_last) where name = '';
  return v_pages;
end $$;
