-- claim: a job whose runs another job follows: its definition, with the columns of jobs_in_hand, and its state. Locks
-- nothing. Indexes: jobs_client_key; executions_job of the job's partition.
select j.id, j.revision, j.cron, j.timezone, j.gap, j.overlap, (extract(epoch from j.every) * 1000000)::bigint, j.anchor,
       j.client_id, j.key, j.rules, j.exceptions, j.state::text, j.created_at,
       exists (select from pgsched.executions e where e.partition = pgsched_internal.partition_of(j) and e.job_id = j.id and e.plan > 0),
       coalesce((select c.keep from pgsched.clients c where c.client_id = j.client_id), 'all') = 'all'
  from pgsched.jobs j where j.client_id = %(client)s and j.key = %(key)s and j.state <> 'cancelled'
