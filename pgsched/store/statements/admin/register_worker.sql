-- Registers a worker and returns its id, which its leases contain. All sessions of the worker have its instance name
-- and this login; while such a session exists, the worker's process is alive. A worker that was draining under its
-- former id keeps draining under the new one.
with registered as (
  insert into pgsched.workers (name, queues, release, delivers, concurrency, instance, login, lease, expires_at)
  values (%(name)s, %(queues)s, %(release)s, %(delivers)s, %(concurrency)s, %(instance)s,
          (select u.oid from pg_catalog.pg_roles u where u.rolname = session_user), %(lease)s, pgsched.now() + %(term)s)
  returning id
), drained as (
  update pgsched_internal.draining d set worker = r.id from registered r where d.worker = %(former)s
)
select id from registered
