-- Passes what one claim holds to another, once; the block shrinks to its last token. Nothing is answered if p_from holds
-- nothing or was evicted.
create or replace function {cotter}_adopt_v1(
  p_name text, p_from uuid, p_to uuid, p_label text, out out_number bigint, out out_turns integer, out out_left bigint)
language plpgsql set lock_timeout = '1s' as $$
declare
  l {cotter}_lock%rowtype; c {cotter}_claim%rowtype; t timestamptz;
begin
  select * into l from {cotter}_lock where name = p_name for update;
  if not found then return; end if;
  t := clock_timestamp();
  if l.claim = p_from and l.until > t and l.evicted is distinct from p_from then
    l.number := l.number + l.turns - 1;
    l.turns := 1;
    l.claim := p_to;
    update {cotter}_lock set claim = p_to, number = l.number, turns = 1, label = p_label where name = p_name;
  end if;
  if l.claim = p_to and l.until > t then
    out_number := l.number;
    out_turns := l.turns;
    out_left := (extract(epoch from l.until - t) * 1000000)::bigint;
    return;
  end if;
  update {cotter}_claim set id = p_to, label = p_label
    where id = p_from and name = p_name and state = 'g' and ends > t and not marked;
  select * into c from {cotter}_claim where id = p_to and name = p_name and state = 'g' and ends > t;
  if found then
    out_number := c.number;
    out_turns := 1;
    out_left := (extract(epoch from c.ends - t) * 1000000)::bigint;
  end if;
end $$;
