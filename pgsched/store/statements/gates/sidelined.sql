-- The targets that are sidelined or recovering, ordered by the names of their gates. Index: executions_gate, for the
-- number of held executions.
select s.gate, s.host, s.client_id as client, s.state, s.until, s.openings, s.reason, s.since, s.failing_since, s.held
  from pgsched.sidelined s
 where (%(client)s::text is null or s.client_id = %(client)s) and (%(after)s::text is null or s.gate > %(after)s)
 order by s.gate limit %(limit)s
