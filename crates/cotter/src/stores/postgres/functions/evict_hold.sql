-- Modes row and advisory: marks the holder of a name as evicted, or the one with this token. Answers its token, or null. Its session
-- is ended later, if at all: whoever finds it ended must find the mark too.
create or replace function {cotter}_evict_hold_v1(p_place text, p_name text, p_token bigint) returns bigint
language plpgsql set lock_timeout = '1s' as $$
declare
  s {cotter}_session%rowtype;
begin
  select * into s from {cotter}_session where place = p_place and name = p_name for update;
  if not found or s.claim is null or not {cotter}_holds_v1(s.key, s.pid, s.xid) then return null; end if;
  if p_token is not null and p_token not between s.number and s.number + s.turns - 1 then return null; end if;
  update {cotter}_session set evicted = s.claim where place = p_place and name = p_name;
  return s.number;
end $$;
