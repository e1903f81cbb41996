-- archive: the failed tries of a day, as CSV. Locks nothing. Reads the day's table, and what is in no day's.
copy (select a.* from pgsched.attempts a
       where a.finished_at >= %(day)s::date::timestamp at time zone 'UTC' and a.finished_at < (%(day)s::date + 1)::timestamp at time zone 'UTC')
  to stdout with (format csv, header)
