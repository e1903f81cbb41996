-- bulk changes: the next chunk. Locks the change, so that no other worker has it, then each row that it deals with.
select changed, more, finished from pgsched_internal.advance_bulk_change(%(change)s, %(most)s)
