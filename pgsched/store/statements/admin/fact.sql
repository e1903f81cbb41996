-- worker, API, doctor: reads a fact about the installation, such as which release made its interface. Locks nothing.
-- Index: the primary key of facts.
select f.value from pgsched_internal.facts f where f.name = %(fact)s
