-- claim: of successors that were to be planned in a partition, those that do not stand though their jobs are as they
-- were: somebody else has locked these. Locks nothing. Indexes: jobs' primary key; executions_job.
select n.id
  from unnest(%(jobs)s, %(revisions)s, %(instants)s) as n(id, revision, instant)
  join pgsched.jobs j on j.id = any (array[n.id]) and j.revision = n.revision and j.state = 'active'
 where not exists (select from pgsched_internal.executions_{p} e where e.job_id = n.id and e.scheduled_for = n.instant)
