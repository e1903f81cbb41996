-- clients: for each of these clients, how many executions its limit or hold keeps waiting, counted up to a maximum; and
-- one of its failing hosts, if its first twenty circuits include one. Locks nothing. Indexes: executions_gate,
-- gates_of_client.
select c.client,
       (select count(*) from (
          select from pgsched.executions e where e.gate = 'client:' || c.client and not isfinite(e.fire_at) limit %(most)s) found) as held,
       (select split_part(substr(g.name, length('circuit:') + 1), ' ', 1)
          from (select g.name, g.failing_since from pgsched_internal.gates g where g.client_id = c.client order by g.name limit 20) g
         where g.failing_since is not null limit 1) as failing
  from unnest(%(clients)s::text[]) as c(client)
