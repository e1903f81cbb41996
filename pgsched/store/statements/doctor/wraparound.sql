-- doctor: databases of the server that have used more than this share of the two billion transactions or multixacts
-- that they may have before the oldest rows are frozen. Oldest first. Locks nothing.
select d.datname::text as name, greatest(pg_catalog.age(d.datfrozenxid), pg_catalog.mxid_age(d.datminmxid)) as age
  from pg_catalog.pg_database d
 where d.datallowconn and greatest(pg_catalog.age(d.datfrozenxid), pg_catalog.mxid_age(d.datminmxid)) > 2147483648 * %(share)s::float8
 order by age desc limit %(most)s
