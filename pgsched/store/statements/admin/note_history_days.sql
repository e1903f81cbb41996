-- days: notes for how many days a worker would keep history, and answers with the most that any worker has asked for within
-- the last day: what one of them wants kept, no other drops, also while that one is being restarted.
with noted as (
  insert into pgsched_internal.facts (name, value) values ('history_days ' || %(kept)s::integer, %(kept)s::integer)
      on conflict (name) do update set updated_at = pgsched.now()
)
select greatest(%(kept)s::integer, (select max(f.value::integer) from pgsched_internal.facts f
                                     where f.name like 'history\_days %%' and f.updated_at > pgsched.now() - interval '1 day'))
