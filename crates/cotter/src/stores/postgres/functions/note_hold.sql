-- Modes row and advisory: writes a note at (token, sequence), if the claim holds the name, was not evicted, and the pair is larger
-- than the one that is there. Answers the new revision, or null.
create or replace function {cotter}_note_hold_v1(
  p_place text, p_name text, p_id uuid, p_note text, p_key text, p_token bigint, p_sequence bigint, p_bytes bytea)
  returns bigint
language plpgsql set lock_timeout = '1s' as $$
declare
  s {cotter}_session%rowtype; v_revision bigint;
begin
  -- Whoever takes the name next waits for this row before it gets its token.
  select * into s from {cotter}_session where place = p_place and name = p_name for update;
  if not found or s.claim is distinct from p_id or s.evicted = p_id or p_token < s.number then return null; end if;
  if not {cotter}_holds_v1(s.key, s.pid, s.xid) then return null; end if;
  insert into {cotter}_note as n (name, key, token, sequence, revision, bytes)
    values (p_note, p_key, p_token, p_sequence, (extract(epoch from clock_timestamp()) * 1000000)::bigint, p_bytes)
    on conflict (name, key) do update set token = p_token, sequence = p_sequence, bytes = p_bytes,
      revision = greatest(n.revision + 1, excluded.revision)
      where (n.token, n.sequence) < (p_token, p_sequence)
    returning revision into v_revision;
  return v_revision;
end $$;
