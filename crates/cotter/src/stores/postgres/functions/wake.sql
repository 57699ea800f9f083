-- Notifies the waiters at the head of the queue that could be admitted together, and numbers those that will share the name:
-- they ask in any order, and their tokens are in order of arrival all the same. The caller has locked the row of the name, and
-- has removed what has ended. One whose turn it is, and that does not ask within two seconds, loses its place: it stands still or
-- is cut off. One without a channel does not listen yet, or cannot: it asks several times a second.
--
-- A waiter on whose channel no session listens has probably been killed. It keeps its place for two more seconds, in which one
-- that has only lost its connection asks again, and those behind it are notified as if it were not there. No more than 100 are
-- asked for in one transaction, which keeps the locks of the dead until its end: the server has room for some thousands.
create or replace function {cotter}_wake_v1(p_name text, p_held boolean, p_permits integer) returns void
language plpgsql as $$
declare
  v_readers boolean; v_taken bigint; w record; v_last bigint; v_next bigint; v_dead integer := 0;
begin
  if p_held then return; end if;
  select coalesce(bool_or(mode = 'r'), false), coalesce(sum(take), 0) into v_readers, v_taken
    from {cotter}_claim where name = p_name and state = 'g';
  for w in select id, mode, take, channel, number, marked from {cotter}_claim where name = p_name and state = 'w' order by ticket loop
    continue when w.marked;
    if v_dead < 100 and w.channel <> '' and pg_try_advisory_xact_lock({listens}, hashtext(w.channel)) then
      update {cotter}_claim set marked = true, ends = least(ends, clock_timestamp() + interval '2 s') where id = w.id;
      v_dead := v_dead + 1;
      continue;
    end if;
    case w.mode
      when 'x' then exit when v_readers or v_taken > 0;
      when 'r' then exit when v_taken > 0 and not v_readers;
      else exit when v_taken + w.take > p_permits;
    end case;
    if w.channel <> '' then perform pg_notify(w.channel, w.id::text); end if;
    update {cotter}_claim set ends = least(ends, clock_timestamp() + interval '2 s') where id = w.id;
    exit when w.mode = 'x';
    if w.number = 0 then
      if v_last is null then
        select last, last into v_last, v_next from {cotter}_lock where name = p_name;
      end if;
      v_next := greatest(v_next + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint);
      update {cotter}_claim set number = v_next where id = w.id;
    end if;
    v_readers := w.mode = 'r';
    v_taken := v_taken + w.take;
  end loop;
  if v_next > v_last then update {cotter}_lock set last = v_next where name = p_name; end if;
end $$;
