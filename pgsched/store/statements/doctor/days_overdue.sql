-- doctor: the number of days of history that should have been dropped over a week ago but still wait to be archived.
-- Reads the catalogue. Locks nothing.
select count(*)::integer
  from pgsched.installation i
  join pg_catalog.pg_class c on c.relnamespace = 'pgsched_internal'::regnamespace and c.relkind = 'r' and c.relname ~ '^history_[0-9]{8}$'
 where i.archive_history and to_date(right(c.relname, 8), 'YYYYMMDD') < (pgsched.now() at time zone 'UTC')::date - i.history_days - 7
