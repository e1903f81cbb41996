-- page: dead letters, ordered by id. Without contents, no payload is read. Locks nothing. Indexes: history_failed, the
-- primary key of kept_dead_letters.
select r.id, r.client_id as client, r.key, r.job_id, r.queue, r.state, r.target, case when %(contents)s then r.payload end as payload, r.options,
       r.ordering_key, r.scheduled_for, r.created_at, r.finished_at, r.attempt, r.status_code, r.reason, r.replayed_as, r.dealt_with_at,
       r.dealt_with_by, r.expires_at, r.labels
  from pgsched.dead_letters r where true{clauses} order by r.id{order} limit %(limit)s
