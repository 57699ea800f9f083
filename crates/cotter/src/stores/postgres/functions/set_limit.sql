-- Changes the number of permits of a name that is in use as a semaphore.
create or replace function {cotter}_set_limit_v1(p_name text, p_of integer) returns void
language plpgsql set lock_timeout = '1s' as $$
declare
  l {cotter}_lock%rowtype; w record;
begin
  select * into l from {cotter}_lock where name = p_name for update;
  if not found or l.permits is null or not l.crowd then return; end if;
  delete from {cotter}_claim where name = p_name and ends <= clock_timestamp();
  if not exists (select from {cotter}_claim where name = p_name) then return; end if;
  update {cotter}_lock set permits = p_of where name = p_name;
  -- Those that can never be served any more would block everybody behind them. They ask again, and are refused.
  for w in delete from {cotter}_claim where name = p_name and state = 'w' and take > p_of returning id, channel loop
    if w.channel <> '' then perform pg_notify(w.channel, w.id::text); end if;
  end loop;
  perform {cotter}_wake_v1(p_name, false, p_of);
end $$;
