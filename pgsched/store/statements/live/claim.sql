-- claim: leases the due rows of each partition, earliest first (or latest first, with order " desc"), at most as many as there are free
-- slots. Locks the rows that it takes and passes over those that another worker holds. Index: executions_fire_at. No lease column is in
-- an index, so the update is HOT. low is a hint by which the dead entries at the left edge of the index are skipped; the sweeper finds rows
-- that stand before it.
-- A payload that is large, or compressed and so of unknown size, is kept back (store/live/recorded_starts.py). Its head tells both, without
-- reading the rest.
update pgsched_internal.executions_{p} e
   set lease_owner = %(owner)s, lease_token = %(token)s,
       lease_expires_at = pgsched.now() + %(lease)s, attempt = e.attempt + 1
 where e.ctid = any (array(
         select due.ctid from pgsched_internal.executions_{p} due
          where due.partition = {p} and due.fire_at >= %(low_{p})s
            and due.fire_at <= pgsched.now() + %(ahead)s and due.lease_token is null{clauses}
          order by due.fire_at{order} limit %(batch_{p})s for update skip locked))
returning e.partition, e.id, e.lease_token, e.attempt, e.fire_at, coalesce(e.scheduled_for, e.fire_at), e.client_id,
          e.target,
          case when e.payload is null or (pg_column_size(e.payload) <= 8000 and pg_column_compression(e.payload) is null)
               then e.payload else '{"pgsched": "kept back"}'::jsonb end,
          e.options, e.job_id, e.plan, e.key, e.ordering_key, e.start_at, e.uncounted, e.losses
-- then
{rows}
