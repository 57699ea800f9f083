-- One row for each name that was ever locked: the exclusive holder and the last token.
create table if not exists {cotter}_lock (
  name text collate "C" primary key,
  claim uuid,                                        -- the exclusive holder; null if there is none
  number bigint not null default 0,                  -- the first token of its block
  turns integer not null default 1,                  -- the length of the block
  until timestamptz not null default 'epoch',    -- the end of its lease
  lasts bigint not null default 31622400000000,      -- the longest time in µs that was asked for since it was granted
  since timestamptz not null default 'epoch',
  label text not null default '',
  last bigint not null default 0,                    -- the largest token ever reserved
  evicted uuid,                                      -- the claim that was evicted last
  permits integer,                                   -- the limit, while the name is in use as a semaphore
  crowd boolean not null default false               -- there are rows of this name in _claim
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Those who share a name, and those who wait for it. Only changed while the row of the name in _lock is locked.
create table if not exists {cotter}_claim (
  id uuid primary key,
  name text collate "C" not null,
  state "char" not null,                             -- w waits, g granted, e evicted
  mode "char" not null,                              -- x exclusive, r shared, p permits
  take integer not null,                             -- the number of permits
  ticket bigint not null,                            -- the order of arrival
  ends timestamptz not null,                         -- the end of the lease; of a waiter, of its place
  lasts bigint not null default 31622400000000,      -- the longest time in µs that was asked for
  number bigint not null,
  since timestamptz not null,
  label text not null,
  channel text not null,                             -- where a waiter listens; empty if it only polls
  marked boolean not null default false              -- evicted from the end of its lease on; of a waiter, probably dead
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- Tables of earlier versions lack a column. They are not locked without need: whoever waits for a table holds up everybody.
do $$ begin
  if not exists (select from pg_attribute where attrelid = '{cotter}_lock'::regclass and attname = 'lasts') then
    alter table {cotter}_lock add column lasts bigint not null default 31622400000000;
    alter table {cotter}_claim add column lasts bigint not null default 31622400000000;
  end if;
end $$;
create index if not exists {prefix}_claim_name on {cotter}_claim (name, ticket);

-- Small values beside a name.
create table if not exists {cotter}_note (
  name text collate "C" not null,
  key text collate "C" not null,
  token bigint not null,
  sequence bigint not null,
  revision bigint not null,
  bytes bytea not null,
  primary key (name, key)
);

-- Mode row: what is locked. A row is never changed.
create table if not exists {cotter}_row (
  name text collate "C" primary key
);

-- Modes row and advisory: who holds a name, and the last token. A holder that is gone stays here until the next one comes.
create table if not exists {cotter}_session (
  place text collate "C" not null,                   -- the mode, or the table and column of a row
  name text collate "C" not null,
  key bigint unique,                                 -- the number that stands for the name in mode advisory
  claim uuid,
  number bigint not null default 0,                  -- the first token of its block
  turns integer not null default 1,                  -- the length of the block
  last bigint not null default 0,                    -- the largest token ever reserved
  pid integer,                                       -- its session
  xid text,                                          -- the transaction that keeps the row locked
  since timestamptz not null default 'epoch',
  label text not null default '',
  evicted uuid,                                      -- the claim that was evicted last
  primary key (place, name)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
