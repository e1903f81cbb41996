-- History and attempts are kept in days: made ahead, dropped whole. Both functions are the workers' and run with the
-- rights of the tables' owner; a lock they do not get at once they leave to the next turn.

create or replace function pgsched.prepare_days(ahead integer) returns integer
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
      continue when to_regclass(format('pgsched.%I', parent || to_char(day, '_YYYYMMDD'))) is not null;
      begin
        execute format('create table pgsched.%I partition of pgsched.%I for values from (%L) to (%L)',
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
comment on function pgsched.prepare_days(integer) is 'Makes the partitions of history and attempts for today and the days ahead; returns how many.';

create or replace function pgsched.drop_days(kept integer) returns integer
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  oldest constant date := (pgsched.now() at time zone 'UTC')::date - kept;
  child record;
  dropped integer := 0;
begin
  for child in
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent in ('pgsched.history'::regclass, 'pgsched.attempts'::regclass) and c.relname ~ '_[0-9]{8}$'
       and to_date(right(c.relname, 8), 'YYYYMMDD') < oldest
  loop
    begin
      execute format('drop table pgsched.%I', child.name);
      dropped := dropped + 1;
    exception
      when undefined_table then null;
      when lock_not_available then return dropped;
    end;
  end loop;
  delete from pgsched.history_default where finished_at < oldest::timestamp at time zone 'UTC';
  delete from pgsched.attempts_default where finished_at < oldest::timestamp at time zone 'UTC';
  return dropped;
end $$;
comment on function pgsched.drop_days(integer) is 'Drops the days of history and attempts that are older than so many days; returns how many.';
