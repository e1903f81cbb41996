-- sift: leases rows by id, to find out which of them cannot be leased. Index: the primary key.
update pgsched_internal.executions_{p} e
   set lease_owner = %(owner)s, lease_token = %(token)s,
       lease_expires_at = pgsched.now() + %(lease)s, attempt = e.attempt + 1
 where e.id = any (%(ids)s) and e.lease_token is null
returning e.partition, e.id, e.lease_token, e.attempt, e.fire_at, coalesce(e.scheduled_for, e.fire_at), e.client_id,
          e.target, e.payload, e.options, e.job_id, e.plan, e.key, e.ordering_key, e.start_at, e.uncounted, e.losses
