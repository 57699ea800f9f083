-- Modes row and advisory: reserves tokens for a claim whose session holds the name. p_xid: the transaction that keeps the row
-- locked; p_key: the number of the advisory lock that this session holds. One of them is null. Answers the first token and the
-- length of the block, or null if that transaction has ended.
--
-- The row is locked until the answer is committed. So if the lock passes on meanwhile, the next holder gets a larger token.
create or replace function {cotter}_hold_v1(
  p_place text, p_name text, p_id uuid, p_turns integer, p_label text, p_key bigint, p_pid integer, p_xid text)
  returns bigint[]
language plpgsql set lock_timeout = '1s' as $$
declare
  us bigint; t timestamptz; v_answer bigint[];
begin
  loop
    t := clock_timestamp();
    us := (extract(epoch from t) * 1000000)::bigint;
    update {cotter}_session as s set claim = p_id, pid = p_pid, xid = p_xid, number = greatest(s.last + 1, us),
        turns = least(p_turns, greatest(1, us - s.last)),
        last = greatest(s.last + 1, us) + least(p_turns, greatest(1, us - s.last)) - 1, since = t, label = p_label
      where place = p_place and name = p_name and (p_xid is null or pg_xact_status(p_xid::xid8) = 'in progress')
      returning array[number, s.turns] into v_answer;
    if found then return v_answer; end if;
    if p_xid is not null and pg_xact_status(p_xid::xid8) is distinct from 'in progress' then return null; end if;
    if p_key is not null and exists (select from {cotter}_session where key = p_key and name <> p_name) then
      raise exception 'the advisory lock % is in use for another name, whose hash is the same', p_key using errcode = 'CT002';
    end if;
    insert into {cotter}_session (place, name, key) values (p_place, p_name, p_key) on conflict do nothing;
  end loop;
end $$;
