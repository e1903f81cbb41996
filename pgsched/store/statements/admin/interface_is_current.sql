-- migrate: checks whether the database has the interface with this digest. Locks nothing. Index: the primary key of
-- facts.
select exists (select from pgsched_internal.facts where name = 'interface' and value = (
{record}
))
