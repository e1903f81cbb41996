-- History and attempts are kept in days: made ahead, dropped whole, once the dead letters are out of them. The functions
-- are the workers' and run with the rights of the tables' owner; a lock they do not get at once they leave to the next turn.

create or replace function pgsched_internal.prepare_days(ahead integer) returns integer
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  parent text;
  day date;
  made integer := 0;
begin
  foreach parent in array array['history', 'attempts'] loop
    for day in select d::date from generate_series(pgsched.now() at time zone 'UTC', pgsched.now() at time zone 'UTC'
                                                    + make_interval(days => ahead), interval '1 day') d
    loop
      continue when to_regclass(format('pgsched_internal.%I', parent || to_char(day, '_YYYYMMDD'))) is not null;
      begin
        execute format('create table pgsched_internal.%I partition of pgsched.%I for values from (%L) to (%L)',
          parent || to_char(day, '_YYYYMMDD'), parent, day::text || ' 00:00+00', (day + 1)::text || ' 00:00+00');
        made := made + 1;
      exception
        when duplicate_table then null;      -- another worker's turn was first
        when check_violation then null;      -- the default partition has rows of that day already, and keeps them
        when lock_not_available then return made;
      end;
    end loop;
  end loop;
  return made;
end $$;
comment on function pgsched_internal.prepare_days(integer) is 'Makes the partitions of history and attempts for today and the days ahead; returns how many.';

create or replace function pgsched_internal.is_kept(client text, finished_at timestamptz) returns boolean language sql stable as $$
  select is_kept.finished_at > pgsched.now() - coalesce(
    (select c.dead_letters_for from pgsched.clients c where c.client_id = is_kept.client), interval '365 days')
$$;
comment on function pgsched_internal.is_kept(text, timestamptz) is 'Whether a dead letter of this client that failed then has not expired.';

-- Row by row, so that a dead letter is in one of the two tables at any moment, and so many at a time.
create or replace function pgsched_internal.keep_dead_letters(kept integer, most integer) returns integer
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  oldest constant timestamptz := ((pgsched.now() at time zone 'UTC')::date - kept)::timestamp at time zone 'UTC';
  moved integer;
begin
  with taken as (
    select h.id, h.finished_at from pgsched.history h
     where h.status = 'failed' and h.dealt_with_at is null and h.finished_at < oldest
       and pgsched_internal.is_kept(h.client_id, h.finished_at)
     limit most for update skip locked
  ), gone as (
    delete from pgsched.history h using taken t where h.id = t.id and h.finished_at = t.finished_at returning h.*
  )
  insert into pgsched_internal.kept_dead_letters
  select g.*, coalesce((select jsonb_agg(to_jsonb(a) - 'execution_id' - 'client_id' order by a.attempt, a.finished_at)
                          from pgsched.attempts a where a.execution_id = g.id), '[]')
    from gone g
  on conflict do nothing;
  get diagnostics moved = row_count;
  return moved;
end $$;
comment on function pgsched_internal.keep_dead_letters(integer, integer)
  is 'Moves open dead letters, no more than so many, out of the days of history that are to be dropped; returns how many.';

create or replace function pgsched_internal.expire_dead_letters(most integer) returns integer
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  expired integer;
begin
  delete from pgsched_internal.kept_dead_letters k where k.id = any (array(
    select o.id from pgsched_internal.kept_dead_letters o
     where o.finished_at < pgsched.now() - interval '1 hour' and not pgsched_internal.is_kept(o.client_id, o.finished_at)
     order by o.finished_at limit most for update skip locked));
  get diagnostics expired = row_count;
  return expired;
end $$;
comment on function pgsched_internal.expire_dead_letters(integer)
  is 'Deletes dead letters that have expired and whose day of history is gone, no more than so many; returns how many.';

create or replace function pgsched_internal.drop_days(kept integer) returns integer
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  oldest constant date := (pgsched.now() at time zone 'UTC')::date - kept;
  child record;
  unmoved boolean;
  dropped integer := 0;
begin
  for child in
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent in ('pgsched.history'::regclass, 'pgsched.attempts'::regclass) and c.relname ~ '_[0-9]{8}$'
       and to_date(right(c.relname, 8), 'YYYYMMDD') < oldest
  loop
    if child.name like 'history%' then
      execute format('select exists (select from pgsched_internal.%I h where h.status = ''failed'' and h.dealt_with_at is null'
        ' and pgsched_internal.is_kept(h.client_id, h.finished_at))', child.name) into unmoved;
      continue when unmoved;
    end if;
    begin
      execute format('drop table pgsched_internal.%I', child.name);
      dropped := dropped + 1;
    exception
      when undefined_table then null;
      when lock_not_available then return dropped;
    end;
  end loop;
  delete from pgsched_internal.history_default h where h.finished_at < oldest::timestamp at time zone 'UTC'
     and not (h.status = 'failed' and h.dealt_with_at is null and pgsched_internal.is_kept(h.client_id, h.finished_at));
  delete from pgsched_internal.attempts_default where finished_at < oldest::timestamp at time zone 'UTC';
  return dropped;
end $$;
comment on function pgsched_internal.drop_days(integer) is 'Drops the days of history and attempts that are older than so many days; returns how many.';
