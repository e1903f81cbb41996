-- plan: records ranges of a job's instants that had no row and do not run: one history row for each range.
select pgsched_internal.skip_range(j, o.first, o.last, o.instants, o.reason)
  from unnest(%(jobs)s::uuid[], %(firsts)s::timestamptz[], %(lasts)s::timestamptz[], %(counts)s::bigint[], %(reasons)s::text[])
       as o(job_id, first, last, instants, reason)
  join pgsched.jobs j on j.id = any (array[o.job_id])
