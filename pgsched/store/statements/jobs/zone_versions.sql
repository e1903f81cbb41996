-- tzdata: which version rows are planned by, and which older one somebody had since. Locks nothing.
select (select f.value from pgsched_internal.facts f where f.name = 'tzdata'),
       (select f.value from pgsched_internal.facts f where f.name = 'tzdata behind')
