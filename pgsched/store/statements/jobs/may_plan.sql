-- plan: whether this session's role may plan jobs.
select has_column_privilege('pgsched.jobs', 'planned_revision', 'UPDATE')
