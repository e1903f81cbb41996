-- A job as it would be after an edit. Locks and writes nothing. Index: the primary key.
select e.id, e.client_id as client, e.key, e.queue, e.ordering_key, e.target, e.payload, e.options, e.rules, e.exceptions, e.labels, e.cron,
       e.timezone, e.every, e.anchor, e.gap, e.overlap, e.state::text, e.reason, e.runs, e.declared_by,
       case when e.state = 'paused' then e.paused_at end as paused_at, e.created_at, e.updated_at
  from pgsched.jobs j, pgsched_internal.edited(j, %(changes)s) e
 where j.id = %(job)s
