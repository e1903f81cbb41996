-- tzdata: releases the recheck, so that other workers may reserve it.
delete from pgsched_internal.facts where name = 'tzdata rechecked by' and value = %(worker)s::integer::text
