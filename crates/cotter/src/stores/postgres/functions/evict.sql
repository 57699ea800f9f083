-- Takes the lock away from its holders, or from the one with this token: at once, or when its lease ends. Answers the token of
-- one of them, or null.
create or replace function {cotter}_evict_v1(p_name text, p_token bigint, p_now boolean) returns bigint
language plpgsql set lock_timeout = '1s' as $$
declare
  l {cotter}_lock%rowtype; t timestamptz; v_first bigint; v_held boolean;
begin
  select * into l from {cotter}_lock where name = p_name for update;
  if not found then return null; end if;
  t := clock_timestamp();
  v_held := l.claim is not null and l.until > t;
  if v_held and (p_token is null or p_token between l.number and l.number + l.turns - 1) then
    v_first := l.number;
    update {cotter}_lock set evicted = l.claim, claim = case when not p_now then l.claim end,
        until = case when p_now then 'epoch' else l.until end
      where name = p_name;
    v_held := not p_now;
  end if;
  if l.crowd then
    delete from {cotter}_claim where name = p_name and ends <= t;
    with gone as (
      update {cotter}_claim set marked = true, state = case when p_now then 'e' else 'g' end, take = case when p_now then 0 else take end
        where name = p_name and state = 'g' and (p_token is null or number = p_token) returning number
    )
    select min(number) into v_first from (select number from gone union all select v_first) as all_of_them;
    if v_first is not null and p_now then perform {cotter}_wake_v1(p_name, v_held, l.permits); end if;
  end if;
  return v_first;
end $$;
