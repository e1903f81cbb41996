-- migrate: the revisions that the database has been migrated to. Locks nothing.
select version_num from pgsched.schema_version order by 1
