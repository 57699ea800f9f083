-- Frees what a claim holds, and removes it from the queue: f freed | n not held | e evicted. p_keep: the time in µs for which
-- the name stays locked, or null.
create or replace function {cotter}_release_v1(p_name text, p_id uuid, p_used integer, p_keep bigint) returns text
language plpgsql set lock_timeout = '1s' as $$
declare
  l {cotter}_lock%rowtype; c {cotter}_claim%rowtype; t timestamptz; v_held boolean;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'not read committed' using errcode = 'CT001';
  end if;
  -- The usual case: nobody waits.
  update {cotter}_lock set claim = null, until = 'epoch',
      last = case when last = number + turns - 1 then number + least(p_used, turns) - 1 else last end
    where name = p_name and claim = p_id and not crowd and until > clock_timestamp() and p_keep is null;
  if found then return 'f'; end if;
  select * into l from {cotter}_lock where name = p_name for update;
  if not found then return 'n'; end if;
  t := clock_timestamp();
  if l.claim = p_id and l.until > t then
    -- A kept lock has a holder that nobody is.
    update {cotter}_lock set claim = case when p_keep is not null then gen_random_uuid() end,
        until = case when p_keep is null then 'epoch' else t + p_keep * interval '1 microsecond' end, lasts = coalesce(p_keep, 0),
        last = case when last = number + turns - 1 then number + least(p_used, turns) - 1 else last end
      where name = p_name;
    if l.crowd then
      delete from {cotter}_claim where name = p_name and ends <= t;
      perform {cotter}_wake_v1(p_name, p_keep is not null, l.permits);
    end if;
    return 'f';
  end if;
  if l.crowd then
    delete from {cotter}_claim where name = p_name and ends <= t;
    delete from {cotter}_claim where id = p_id and name = p_name and state in ('g', 'w') returning * into c;
    if found then
      if c.state = 'g' and p_keep is not null then
        insert into {cotter}_claim (id, name, state, mode, take, ticket, ends, lasts, number, since, label, channel)
          values (gen_random_uuid(), p_name, 'g', c.mode, c.take, c.ticket, t + p_keep * interval '1 microsecond', p_keep, c.number,
            c.since, c.label, '');
      end if;
      v_held := l.claim is not null and l.until > t;
      update {cotter}_lock set crowd = exists (select from {cotter}_claim where name = p_name),
          last = case when c.state = 'g' and last = c.number then c.number + least(p_used, 1) - 1 else last end
        where name = p_name;
      perform {cotter}_wake_v1(p_name, v_held, l.permits);
      return 'f';
    end if;
    if exists (select from {cotter}_claim where id = p_id and name = p_name and state = 'e') then return 'e'; end if;
  end if;
  return case when l.evicted = p_id then 'e' else 'n' end;
end $$;
