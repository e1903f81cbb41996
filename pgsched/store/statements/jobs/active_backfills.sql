-- backfill: those that are not done yet. Locks nothing. Index: backfills_active.
select b.id, array[j.client_id] as clients from pgsched.backfills b left join pgsched.jobs j on j.id = b.job_id where b.state = 'active' order by b.id
