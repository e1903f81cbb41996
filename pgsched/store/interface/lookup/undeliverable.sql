-- Executions that no worker could deliver when they were due. Each gate costs one index probe.
create or replace view pgsched.undeliverable with (security_invoker = true) as
with recursive held as (
  (select e.gate from pgsched.executions e where e.gate >= 'worker:' and not isfinite(e.fire_at) order by e.gate limit 1)
  union all
  select (select e.gate from pgsched.executions e where e.gate > h.gate and not isfinite(e.fire_at) order by e.gate limit 1)
    from held h where h.gate is not null
)
select substr(h.gate, length('worker:') + 1) as needs,
       (select count(*) from (select from pgsched.executions e where e.gate = h.gate and not isfinite(e.fire_at) limit 10000) found) as held,
       array(select w.id from pgsched.workers w where substr(h.gate, length('worker:') + 1) = any (w.delivers) and pgsched_internal.is_living(w)
                and not exists (select from pgsched_internal.draining d where d.worker = w.id)
              order by w.id) as workers
  from held h where h.gate like 'worker:%';
comment on view pgsched.undeliverable
  is 'The handlers and target classes that no worker had when executions needed them. Shows, for each of them, how many
executions wait, counted up to 10,000, and which workers have it now.';
