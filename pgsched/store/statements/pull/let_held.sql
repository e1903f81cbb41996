-- pull: releases up to `most` executions of pulled queues that were held because their clients were held. Skips rows
-- that another transaction has locked. Index: executions_gate; then the primary key.
update pgsched.executions e set fire_at = greatest(pgsched.now(), coalesce(e.start_at, e.scheduled_for)), gate = null, waits = pgsched_internal.waited(e.waits)
 where e.partition = any ({partitions}) and e.id = any (array(
         select h.id from pgsched.executions h
          where h.gate = any (%(gates)s::text[]) and not isfinite(h.fire_at) and h.lease_token is null
            and h.partition = any ({partitions})
          limit %(most)s for update skip locked))
