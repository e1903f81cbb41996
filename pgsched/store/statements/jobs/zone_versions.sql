-- tzdata: the version that rows are planned by, and the older version that a worker has used since, if any. Locks
-- nothing.
select (select f.value from pgsched_internal.facts f where f.name = 'tzdata'),
       (select f.value from pgsched_internal.facts f where f.name = 'tzdata behind')
