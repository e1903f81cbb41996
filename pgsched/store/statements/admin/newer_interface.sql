-- migrate: the release that made the interface, if it is later than this one. Locks nothing. Index: the primary key of
-- facts.
select f.value from pgsched_internal.facts f
 where f.name = 'release' and string_to_array(substring(f.value from '^[0-9]+(?:\.[0-9]+)*'), '.')::integer[] > %(numbers)s::integer[]
