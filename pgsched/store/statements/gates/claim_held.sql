-- claim: leases executions that a gate holds, by priority and instant. Locks the rows that it takes and passes over those that another
-- worker holds. Index: executions_gate; then the primary key, without a join: a plan that was made for few rows would read these indexes
-- whole. An update returns its rows partition by partition, and the first of them begin first: so they are sorted once more.
-- A payload that is large, or compressed and so of unknown size, is kept back (store/live/recorded_starts.py). Its head tells both, without
-- reading the rest.
with fed as materialized (
  select due.id from pgsched.executions due
   where due.gate = %(gate)s and not isfinite(due.fire_at) and due.lease_token is null and due.partition = any ({partitions}){clauses}
   order by coalesce((due.options ->> 'priority')::smallint, 0::smallint) desc, due.scheduled_for, due.id limit %(batch)s for update skip locked
), taken as (
  update pgsched.executions e
     set fire_at = greatest(pgsched.now(), coalesce(e.start_at, e.scheduled_for)), gate = null, waits = pgsched_internal.waited(e.waits), lease_owner = %(owner)s, lease_token = %(token)s,
         lease_expires_at = pgsched.now() + %(lease)s, attempt = e.attempt + 1
   where e.partition = any ({partitions}) and e.id = any (array(select id from fed))
  returning e.partition, e.id, e.lease_token, e.attempt, e.fire_at, coalesce(e.scheduled_for, e.fire_at) as scheduled_for,
            e.client_id, e.target,
            case when e.payload is null or (pg_column_size(e.payload) <= 8000 and pg_column_compression(e.payload) is null)
                 then e.payload else '{"pgsched": "kept back"}'::jsonb end,
            e.options, e.job_id, e.plan, e.key, e.ordering_key, e.start_at, e.uncounted, e.losses
)
select * from taken order by coalesce((options ->> 'priority')::smallint, 0::smallint) desc, scheduled_for, id
