-- migrate: has the interface be made anew. Index: the primary key of facts.
delete from pgsched_internal.facts where name = 'interface'
