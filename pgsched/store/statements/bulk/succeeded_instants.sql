-- bulk: the instants, within a range, of runs that succeeded, or failed and were replayed; earliest first, in
-- microseconds since 1970. Locks nothing. Index: history_job.
select (extract(epoch from s.scheduled_for) * 1000000)::bigint
  from (select distinct h.scheduled_for from pgsched.history h
         where h.job_id = %(job)s and h.scheduled_for >= %(start)s and h.scheduled_for < %(end)s
           and (h.status = 'succeeded' or h.replayed_as is not null)
         order by h.scheduled_for) s
