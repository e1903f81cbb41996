-- bulk: the active operations. Locks nothing. Index: bulk_operations_active.
select b.id, b.action, coalesce(b.clients, array[b.filter ->> 'client']) as clients from pgsched.bulk_operations b where b.state = 'active' order by b.id
