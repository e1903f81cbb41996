-- plan: whether this session may plan.
select has_column_privilege('pgsched.jobs', 'planned_revision', 'UPDATE')
