-- tzdata: others may recheck now.
delete from pgsched_internal.facts where name = 'tzdata rechecked by' and value = %(worker)s::integer::text
