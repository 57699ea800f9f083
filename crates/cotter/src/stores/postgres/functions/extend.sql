-- Extends the leases of these claims to p_ttl µs from now. Answers the µs that are left of each, -1 where the claim holds
-- nothing, -2 where it was evicted. No lease lasts longer than its holder has ever asked for: what a clock that was set back
-- would add is not kept. Goes in order of name: two batches in different orders would wait for each other.
create or replace function {cotter}_extend_v1(p_names text[], p_ids uuid[], p_ttl bigint) returns bigint[]
language plpgsql set lock_timeout = '1s' as $$
declare
  l {cotter}_lock%rowtype; c {cotter}_claim%rowtype; r record; t timestamptz; v_left bigint;
  v_ttl interval := p_ttl * interval '1 microsecond';
  answer bigint[] := array_fill(-1::bigint, array[cardinality(p_names)]);
begin
  for r in select name, id, at from unnest(p_names, p_ids) with ordinality as u(name, id, at) order by name collate "C", at loop
    select * into l from {cotter}_lock where name = r.name for update;
    continue when not found;
    t := clock_timestamp();
    v_left := -1;
    if l.evicted = r.id then
      v_left := -2;
    elsif l.claim = r.id and l.until > t then
      l.lasts := greatest(l.lasts, p_ttl);
      l.until := least(greatest(l.until, t + v_ttl), t + l.lasts * interval '1 microsecond');
      update {cotter}_lock set until = l.until, lasts = l.lasts where name = r.name and (until, lasts) <> (l.until, l.lasts);
      v_left := (extract(epoch from l.until - t) * 1000000)::bigint;
    elsif l.crowd then
      select * into c from {cotter}_claim where id = r.id and name = r.name and ends > t;
      if found and (c.marked or c.state = 'e') then
        v_left := -2;
      elsif found and c.state = 'g' then
        c.lasts := greatest(c.lasts, p_ttl);
        c.ends := least(greatest(c.ends, t + v_ttl), t + c.lasts * interval '1 microsecond');
        update {cotter}_claim set ends = c.ends, lasts = c.lasts where id = r.id;
        v_left := (extract(epoch from c.ends - t) * 1000000)::bigint;
      end if;
    end if;
    answer[r.at] := v_left;
  end loop;
  return answer;
end $$;
