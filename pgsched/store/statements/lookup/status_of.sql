-- An execution, whether it is waiting, running or ended. Locks nothing, and reads only the tables that may contain it.
-- Index: the primary key of its partition; history_id.
select s.id, s.client_id as client, s.key, s.job_id, s.queue, s.status::text, s.target, s.payload, s.scheduled_for, s.fire_at,
       s.attempt, s.created_at, s.finished_at, s.status_code, s.result, s.reason, s.options, s.ordering_key, s.worker, s.began_at,
       s.duration, s.lease_expires_at, s.instants, s.last_scheduled_for, s.held_by, s.labels, s.waits
  from pgsched.status_of(%(id)s) s
