-- worker: marks an execution that has blocked the event loop for so long that its worker is about to be lost. The
-- execution runs in isolation after it has been taken back. Fenced by the token. Index: the primary key.
update pgsched_internal.executions_{p} e set losses = greatest(coalesce(e.losses, 0), 1)
 where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
