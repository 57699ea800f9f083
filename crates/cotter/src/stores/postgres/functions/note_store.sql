-- Writes a note at (token, sequence), if the claim holds the name, was not evicted, and the pair is larger than the one that is
-- there. Answers the new revision, or null.
create or replace function {cotter}_note_store_v1(
  p_name text, p_id uuid, p_key text, p_token bigint, p_sequence bigint, p_bytes bytea) returns bigint
language plpgsql set lock_timeout = '1s' as $$
declare
  l {cotter}_lock%rowtype; t timestamptz; v_revision bigint;
begin
  select * into l from {cotter}_lock where name = p_name for update;
  if not found or l.evicted = p_id then return null; end if;
  t := clock_timestamp();
  if l.claim is distinct from p_id or l.until <= t or p_token < l.number then
    perform from {cotter}_claim where id = p_id and name = p_name and state = 'g' and ends > t and not marked
      and number <= p_token;
    if not found then return null; end if;
  end if;
  insert into {cotter}_note as n (name, key, token, sequence, revision, bytes)
    values (p_name, p_key, p_token, p_sequence, (extract(epoch from t) * 1000000)::bigint, p_bytes)
    on conflict (name, key) do update set token = p_token, sequence = p_sequence, bytes = p_bytes,
      revision = greatest(n.revision + 1, excluded.revision)
      where (n.token, n.sequence) < (p_token, p_sequence)
    returning revision into v_revision;
  return v_revision;
end $$;
