-- bulk: records why an operation that could not continue was stopped. Index: the primary key.
update pgsched.bulk_operations b set reason = %(reason)s where b.id = %(operation)s
