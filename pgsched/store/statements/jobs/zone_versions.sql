-- tzdata: the version by which rows are planned, and the older version, if any, that a worker has used since. Locks
-- nothing.
select (select f.value from pgsched_internal.facts f where f.name = 'tzdata'),
       (select f.value from pgsched_internal.facts f where f.name = 'tzdata behind')
