-- worker, API, doctor: one fact about the installation, such as the release that made its interface. Locks nothing.
-- Index: the primary key of facts.
select f.value from pgsched_internal.facts f where f.name = %(fact)s
