-- status: the version of the time zone rules by which rows were planned. Index: the primary key of facts.
select value from pgsched_internal.facts where name = 'tzdata'
