-- settle: what was said of executions that somebody had locked just then. Locks these and what their ends write, and passes over
-- what is locked still. Index: results_to_record_try_at; the primary keys.
select pgsched_internal.record_results(%(most)s)
