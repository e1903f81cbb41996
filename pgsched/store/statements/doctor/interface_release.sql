-- doctor: which release made functions, views and rights. Locks nothing. Index: the primary key of facts.
select f.value from pgsched_internal.facts f where f.name = 'release'
