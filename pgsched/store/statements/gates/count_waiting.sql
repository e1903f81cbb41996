-- levels: counts the waiting executions of a queue, up to `most` in each partition. Locks nothing. Index:
-- executions_fire_at.
select count(*) from (select from pgsched_internal.executions_{p} e where e.partition = {p} and e.lease_token is null limit %(most)s) found
-- then
select sum(count)::bigint from ({rows}) found
