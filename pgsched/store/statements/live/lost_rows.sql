-- reap: locks the rows of a partition after a mark that a reap would take back, and skips rows that another transaction
-- has locked. Does not read the rows' contents. Index: executions_fire_at.
select e.id, e.lease_token from pgsched.executions e
 where e.partition = %(partition)s and e.fire_at > %(low)s and e.fire_at <= pgsched.now() + interval '1 minute'
   and (e.lease_owner = any (%(owners)s) or e.lease_expires_at < to_timestamp(%(ended_by)s) and e.lease_owner is not null
     and not exists (select from pgsched.workers w where w.id = e.lease_owner and w.expires_at <= e.lease_expires_at + w.lease))
 order by e.fire_at limit 1000 for update skip locked
