-- Shows operators the targets that are sidelined or recovering.
create or replace view pgsched.sidelined with (security_invoker = true) as
select g.name as gate, split_part(substr(g.name, strpos(g.name, ':') + 1), ' ', 1) as host,
       g.client_id,
       case when g.shut_until <= pgsched.now() and g.recovers_from is null then 'probing'
            when g.shut_until is null or g.shut_until <= pgsched.now() then 'recovering'
            when g.name like 'host:%' or g.openings = 0 or g.shut_until = 'infinity' then 'by hand'
            else 'failing' end as state,
       g.shut_until as until, g.openings, g.reason, g.updated_at as since,
       (select count(*) from (select from pgsched.executions e where e.gate = g.name and not isfinite(e.fire_at) limit 10000) found) as held,
       g.failing_since
  from pgsched_internal.gates g
 where g.client_id is not null or (g.name like 'host:%' and (g.recovers_from is not null or g.shut_until > pgsched.now()));
comment on view pgsched.sidelined
  is 'Target hosts that are sidelined or recovering, for one client or for all clients, with the number of executions
that wait for each, counted up to 10,000.';
