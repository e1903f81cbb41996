-- A worker announces itself and takes the number its leases carry. All its sessions carry its name (instance) under this
-- login: as long as there is one, the worker's process is there. One that was told to drain under a former number is so under this one.
with registered as (
  insert into pgsched.workers (name, queues, release, delivers, concurrency, instance, login, lease, expires_at)
  values (%(name)s, %(queues)s, %(release)s, %(delivers)s, %(concurrency)s, %(instance)s,
          (select u.oid from pg_catalog.pg_roles u where u.rolname = session_user), %(lease)s, pgsched.now() + %(term)s)
  returning id
), drained as (
  update pgsched_internal.draining d set worker = r.id from registered r where d.worker = %(former)s
)
select id from registered
