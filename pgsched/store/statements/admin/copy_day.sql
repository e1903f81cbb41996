-- archive: the executions that ended on a day, or the attempts that failed on that day, as CSV. Locks nothing. Reads
-- the day's partition and the default partition.
copy (select h.* from pgsched.{parent} h
       where h.finished_at >= %(day)s::date::timestamp at time zone 'UTC' and h.finished_at < (%(day)s::date + 1)::timestamp at time zone 'UTC')
  to stdout with (format csv, header)
