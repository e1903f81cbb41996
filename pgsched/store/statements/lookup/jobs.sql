-- page: jobs, ordered by id. A pause that has ended stays recorded until its instants are accounted for, but is not
-- shown here. Locks nothing. Indexes: the primary key, jobs_client, jobs_key, jobs_labels.
select r.id, r.client_id as client, r.key, r.queue, r.ordering_key, r.target, r.payload, r.options, r.rules, r.exceptions, r.labels, r.cron,
       r.timezone, r.every, r.anchor, r.gap, r.overlap, r.state::text, r.reason, r.runs, r.declared_by,
       case when r.state = 'paused' then r.paused_at end as paused_at, r.created_at, r.updated_at
  from pgsched.jobs r where true{clauses} order by r.id{order} limit %(limit)s
