-- gates: which of these gates hold executions that are to run alone, without those of some clients; and the fewest times that one of
-- the first fifty was lost. The gates with the fewest losses come first. Among equals a gate comes last if an execution of its target is
-- among the last three hundred that were parked after a loss. Locks nothing. Index: executions_gate.
select n.name, found.losses, guilt.is_known
  from unnest(%(names)s::text[]) as n(name)
 cross join lateral (
   select min(coalesce(held.losses, 0)) as losses
     from (select e.losses from pgsched.executions e where e.gate = any (array[n.name]) and not isfinite(e.fire_at)
              and e.client_id <> all (%(without)s::text[])
            order by coalesce(e.priority, 0::smallint) desc, e.scheduled_for, e.id limit 50) held) as found
 cross join lateral (
   select exists (
     select from (select e.target, e.losses from pgsched.executions e where e.gate = any (array['error']) and not isfinite(e.fire_at)
                   order by coalesce(e.priority, 0::smallint), e.scheduled_for desc, e.id desc limit 300) parked
      where 'alone:' || parked.target = n.name and parked.losses > 0) as is_known) as guilt
 where found.losses is not null
 order by found.losses, guilt.is_known, n.name
