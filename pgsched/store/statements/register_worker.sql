-- A worker announces itself and takes the number its leases carry. Its session then holds the advisory lock of that
-- number: while the lock is held the worker's process is there.
insert into pgsched.workers (name, queues, release, delivers, tries, alone, expires_at)
values (%(name)s, %(queues)s, %(release)s, %(delivers)s, %(tries)s, %(alone)s, pgsched.now() + %(lease)s)
returning id
