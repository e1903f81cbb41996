-- tzdata: lets other workers recheck again.
delete from pgsched_internal.facts where name = 'tzdata rechecked by' and value = %(worker)s::integer::text
