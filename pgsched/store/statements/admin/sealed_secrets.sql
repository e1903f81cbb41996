-- All secrets, as they are sealed, in the order of the primary key: the next thousand behind one.
select client_id, name, sealed from pgsched_internal.secrets
 where (client_id, name) > (%(client)s, %(name)s) order by client_id, name limit 1000
