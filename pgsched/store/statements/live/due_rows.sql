-- sift: locks the due rows of a partition that a claim would take, and skips rows that another worker has locked. Does
-- not read the rows' contents. Index: executions_fire_at.
select due.id from pgsched_internal.executions_{p} due
 where due.partition = {p} and due.fire_at >= %(low)s
   and due.fire_at <= pgsched.now() + %(ahead)s and due.lease_token is null{clauses}
 order by due.fire_at{order} limit %(batch)s for update skip locked
