-- worker, API, doctor: the revision of the oldest release that works on the schema. Locks nothing. Index: the primary key of facts.
select f.value from pgsched_internal.facts f where f.name = 'serves from'
