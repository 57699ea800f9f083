-- Extends the leases of these claims to p_ttl µs from now. Answers the µs that are left of each, -1 where the claim holds
-- nothing, -2 where it was evicted. Goes in order of name: two batches in different orders would wait for each other.
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
      if l.until < t + v_ttl then
        l.until := t + v_ttl;
        update {cotter}_lock set until = l.until where name = r.name;
      end if;
      v_left := (extract(epoch from l.until - t) * 1000000)::bigint;
    elsif l.crowd then
      select * into c from {cotter}_claim where id = r.id and name = r.name and ends > t;
      if found and (c.marked or c.state = 'e') then
        v_left := -2;
      elsif found and c.state = 'g' then
        c.ends := greatest(c.ends, t + v_ttl);
        update {cotter}_claim set ends = c.ends where id = r.id;
        v_left := (extract(epoch from c.ends - t) * 1000000)::bigint;
      end if;
    end if;
    answer[r.at] := v_left;
  end loop;
  return answer;
end $$;
