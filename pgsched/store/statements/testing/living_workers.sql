-- testing: the workers that have a session. Locks nothing; reads all workers, of which there are few.
select w.name from pgsched.workers w
 where w.instance <> ''
   and exists (select from pg_catalog.pg_stat_activity a
                where a.datname = pg_catalog.current_database()
                  and pg_catalog.right(a.application_name, pg_catalog.length(w.instance)) = w.instance)
 order by w.id
