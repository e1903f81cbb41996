-- bulk changes: those that are not done yet. Locks nothing. Index: bulk_changes_active.
select b.id, coalesce(b.clients, array[b.filter ->> 'client']) as clients from pgsched.bulk_changes b where b.state = 'active' order by b.id
