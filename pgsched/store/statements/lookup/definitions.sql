-- page: like jobs, but only the columns that decide when a job fires, without payloads.
select r.id, r.client_id as client, r.key, r.cron, r.timezone, r.every, r.anchor, r.gap, r.overlap, r.rules, r.exceptions
  from pgsched.jobs r where true{clauses} order by r.id{order} limit %(limit)s
