-- Writes a note if its revision is still p_seen; 0 means that there is none. Answers the new revision, or null.
create or replace function {cotter}_note_swap_v1(p_name text, p_key text, p_seen bigint, p_bytes bytea) returns bigint
language plpgsql set lock_timeout = '1s' as $$
declare
  v_now bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint; v_revision bigint;
begin
  if p_seen = 0 then
    insert into {cotter}_note (name, key, token, sequence, revision, bytes) values (p_name, p_key, 0, 0, v_now, p_bytes)
      on conflict do nothing returning revision into v_revision;
  else
    update {cotter}_note set token = 0, sequence = 0, bytes = p_bytes, revision = greatest(revision + 1, v_now)
      where name = p_name and key = p_key and revision = p_seen returning revision into v_revision;
  end if;
  return v_revision;
end $$;
