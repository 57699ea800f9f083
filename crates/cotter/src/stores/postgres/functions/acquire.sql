-- Requests a grant. Joins the queue of a busy name, or stays there, if p_silence is not null: the time in µs within which the
-- waiter asks again.
--
-- out_answer: g granted | q queued | b busy | u in use in another way, out_place tells the limit of the semaphore or null.
-- out_left: µs left of the lease; of a waiter, until the first lease before it ends.
create or replace function {cotter}_acquire_v1(
  p_name text, p_id uuid, p_mode "char", p_take integer, p_of integer, p_ttl bigint, p_turns integer, p_label text,
  p_channel text, p_silence bigint,
  out out_answer text, out out_number bigint, out out_turns integer, out out_left bigint, out out_place integer)
language plpgsql set lock_timeout = '1s' as $$
declare
  l {cotter}_lock%rowtype; c {cotter}_claim%rowtype;
  t timestamptz; us bigint; v_held boolean; v_gone integer := 0; v_mine boolean := false; v_ticket bigint;
  v_ahead bigint := 0; v_writers bigint := 0; v_wanted bigint := 0; v_granted bigint := 0; v_taken bigint := 0;
  v_used boolean; v_first timestamptz; v_admitted boolean; v_living bigint := 0;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'not read committed' using errcode = 'CT001';
  end if;
  if p_mode = 'x' then
    -- The usual case: a name that nobody holds, shares or waits for. The clock is read before the row is locked, so the lease
    -- may end earlier than it could, and never later than the client believes.
    t := clock_timestamp();
    us := (extract(epoch from t) * 1000000)::bigint;
    update {cotter}_lock as k set claim = p_id, number = greatest(k.last + 1, us),
        turns = least(p_turns, greatest(1, us - k.last)),
        last = greatest(k.last + 1, us) + least(p_turns, greatest(1, us - k.last)) - 1,
        since = t, until = t + p_ttl * interval '1 microsecond', lasts = p_ttl, label = p_label, permits = null
      where name = p_name and not crowd and (claim is null or until <= t)
      returning number, k.turns into out_number, out_turns;
    if found then
      out_answer := 'g';
      out_left := p_ttl;
      return;
    end if;
  end if;
  loop
    select * into l from {cotter}_lock where name = p_name for update;
    exit when found;
    -- Names that were deleted had smaller tokens than all that come now.
    insert into {cotter}_lock (name, last)
      values (p_name, coalesce((select last from {cotter}_lock where name = ''), 0)) on conflict do nothing;
    -- Names that are used once make room for each other. Nobody waits for a row that this transaction has inserted.
    if found and random() < 0.02 then perform {cotter}_sweep_v1(); end if;
  end loop;
  -- Read when the row is locked, and once.
  t := clock_timestamp();
  us := (extract(epoch from t) * 1000000)::bigint;
  v_held := l.claim is not null and l.until > t;
  if v_held and l.until > t + l.lasts * interval '1 microsecond' then
    -- Longer than was ever asked for: the clock was set back. The lease counts from now.
    l.until := t + l.lasts * interval '1 microsecond';
    update {cotter}_lock set until = l.until where name = p_name;
  end if;
  if v_held and l.claim = p_id then
    out_answer := 'g'; out_number := l.number; out_turns := l.turns;
    out_left := (extract(epoch from l.until - t) * 1000000)::bigint;
    return;
  end if;
  v_used := v_held;
  if l.crowd then
    delete from {cotter}_claim where name = p_name and ends <= t;
    get diagnostics v_gone = row_count;
    update {cotter}_claim set ends = t + lasts * interval '1 microsecond'
      where name = p_name and ends > t + lasts * interval '1 microsecond';
    select * into c from {cotter}_claim where id = p_id and name = p_name;
    if found and c.state = 'g' then
      out_answer := 'g'; out_number := c.number; out_turns := 1;
      out_left := (extract(epoch from c.ends - t) * 1000000)::bigint;
      return;
    end if;
    v_mine := found and c.state = 'w';
    select count(*) filter (where state = 'w' and (not v_mine or ticket < c.ticket)),
        count(*) filter (where state = 'w' and mode = 'x' and (not v_mine or ticket < c.ticket)),
        coalesce(sum(take) filter (where state = 'w' and (not v_mine or ticket < c.ticket)), 0),
        count(*) filter (where state = 'g'),
        coalesce(sum(take) filter (where state = 'g'), 0),
        coalesce(max(ticket), 0), min(ends) filter (where state = 'g' or state = 'w' and ends < t + interval '2 s'), v_used or bool_or(state in ('w', 'g')),
        count(*) filter (where state = 'w' and not marked and (not v_mine or ticket < c.ticket))
      into v_ahead, v_writers, v_wanted, v_granted, v_taken, v_ticket, v_first, v_used, v_living
      from {cotter}_claim where name = p_name and id <> p_id;
    v_used := coalesce(v_used, v_held);
  end if;
  -- While a name is in use, it is either a lock or a semaphore of one size. A waiter whose limit was changed keeps its place.
  if v_used and not v_mine and l.permits is distinct from p_of then
    out_answer := 'u'; out_place := l.permits;
    return;
  end if;
  if not v_used and not v_mine then l.permits := p_of; end if;
  v_admitted := case p_mode
    when 'x' then not v_held and v_granted = 0 and v_ahead = 0
    when 'r' then not v_held and v_writers = 0
    else v_taken + v_wanted + p_take <= l.permits
  end and (v_mine or v_ahead = 0 or p_silence is not null);
  if v_admitted then
    out_answer := 'g';
    out_number := case when v_mine and c.number > 0 then c.number else greatest(l.last + 1, us) end;
    out_turns := case p_mode when 'x' then least(p_turns, greatest(1, us - l.last)) else 1 end;
    out_left := p_ttl;
    if p_mode = 'x' then
      if v_mine then delete from {cotter}_claim where id = p_id; end if;
      update {cotter}_lock set claim = p_id, number = out_number, turns = out_turns, last = out_number + out_turns - 1,
          since = t, until = t + p_ttl * interval '1 microsecond', lasts = p_ttl, label = p_label, permits = null,
          crowd = l.crowd and exists (select from {cotter}_claim where name = p_name)
        where name = p_name;
    else
      insert into {cotter}_claim (id, name, state, mode, take, ticket, ends, lasts, number, since, label, channel)
        values (p_id, p_name, 'g', p_mode, p_take, out_number, t + p_ttl * interval '1 microsecond', p_ttl, out_number, t,
          p_label, '')
        on conflict (id) do update set state = 'g', ends = excluded.ends, lasts = excluded.lasts, number = excluded.number,
          since = excluded.since, label = excluded.label, channel = '', marked = false;
      update {cotter}_lock set claim = null, last = greatest(last, out_number), permits = l.permits, crowd = true where name = p_name;
    end if;
    return;
  end if;
  out_answer := case when p_silence is null then 'b' else 'q' end;
  if p_silence is not null then
    insert into {cotter}_claim (id, name, state, mode, take, ticket, ends, lasts, number, since, label, channel)
      values (p_id, p_name, 'w', p_mode, p_take, greatest(v_ticket + 1, us), t + p_silence * interval '1 microsecond', p_silence,
        0, t, p_label, p_channel)
      on conflict (id) do update set ends = excluded.ends, lasts = excluded.lasts, channel = excluded.channel, marked = false;
  end if;
  if v_held then v_first := least(v_first, l.until); end if;
  out_left := (extract(epoch from coalesce(v_first, t) - t) * 1000000)::bigint;
  out_place := v_living;
  if not v_held and l.claim is not null or v_gone > 0 or not l.crowd and p_silence is not null
      or l.permits is distinct from p_of or v_mine and not v_held and v_granted = 0 then
    update {cotter}_lock set claim = case when v_held then l.claim end, permits = l.permits,
        crowd = exists (select from {cotter}_claim where name = p_name)
      where name = p_name;
    perform {cotter}_wake_v1(p_name, v_held, l.permits);
  end if;
end $$;
