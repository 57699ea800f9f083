-- Turns an exclusive grant into a shared one. Nothing is answered if the claim does not hold the name.
create or replace function {cotter}_downgrade_v1(p_name text, p_id uuid, out out_number bigint, out out_left bigint)
language plpgsql set lock_timeout = '1s' as $$
declare
  l {cotter}_lock%rowtype; c {cotter}_claim%rowtype; t timestamptz;
begin
  select * into l from {cotter}_lock where name = p_name for update;
  t := clock_timestamp();
  if l.claim = p_id and l.until > t then
    insert into {cotter}_claim (id, name, state, mode, take, ticket, ends, lasts, number, since, label, channel, marked)
      values (p_id, p_name, 'g', 'r', 0, 0, l.until, l.lasts, l.number + l.turns - 1, l.since, l.label, '',
        l.evicted is not distinct from p_id)
      returning * into c;
    update {cotter}_lock set claim = null, until = 'epoch', crowd = true where name = p_name;
    delete from {cotter}_claim where name = p_name and ends <= t;
    perform {cotter}_wake_v1(p_name, false, l.permits);
  else
    select * into c from {cotter}_claim where id = p_id and name = p_name and state = 'g' and mode = 'r' and ends > t;
  end if;
  if c.id is not null then
    out_number := c.number;
    out_left := (extract(epoch from c.ends - t) * 1000000)::bigint;
  end if;
end $$;
