-- days: deletes what is older from the partitions without a day; passes over rows that somebody has locked.
select pgsched_internal.trim_default_days(%(kept)s, %(most)s)
