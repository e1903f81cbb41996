-- migrate: makes the next migration rebuild the interface. Index: the primary key of facts.
delete from pgsched_internal.facts where name = 'interface'
