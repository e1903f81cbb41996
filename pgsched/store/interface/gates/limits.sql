-- Limits: how many executions of a client, for a host, in a queue or under a key may begin in a period, or run at the
-- same time. Workers read them from pgsched_internal.gates and enforce them.

create or replace function pgsched_internal.gate_of(kind text, name text) returns text
  language plpgsql immutable parallel safe as $$
declare
  host constant text := case kind when 'host' then pgsched_internal.canonical_host(name) end;
begin
  if kind is null or kind not in ('client', 'host', 'queue', 'key') then
    perform pgsched_internal.refuse('PS000', format('there is no kind of limit %L', left(kind, 100)), 'write client, host, queue or key');
  elsif name is null or length(name) not between 1 and 300 then
    perform pgsched_internal.refuse('PS000', 'the name of a limit must be 1 to 300 characters', 'write name => ''payments''');
  elsif kind = 'key' and name !~ '^([^/%]|%25|%2F){1,100}/.{1,200}$' then
    perform pgsched_internal.refuse('PS000', format('%L is not a limit key', left(name, 100)),
      'write the client and the key, such as payments/merchant-42; in the client''s name, write / as %2F and % as %25');
  elsif kind = 'host' and (host !~ '^([a-z0-9]([a-z0-9._-]*[a-z0-9])?|[[][0-9a-f:.]+[]])(:[0-9]{1,5})?$'
      or not pgsched_internal.is_only_form(regexp_replace(host, ':[0-9]+$', ''))) then
    perform pgsched_internal.refuse('PS000', format('%L is not a host', left(name, 100)), 'write the host as in targets, without scheme and path, such as shop.example or shop.example:8443');
  end if;
  return kind || ':' || coalesce(host, name);
end $$;
comment on function pgsched_internal.gate_of(text, text)
  is 'The name of a limit''s gate, such as client:payments; raises PS000 for an invalid kind or name.';

create or replace function pgsched_internal.check_limit(rate integer, per interval, burst integer, concurrency integer) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if num_nonnulls(rate, concurrency) = 0 then
    return pgsched_internal.refuse('PS000', 'a limit needs "rate", "concurrency" or both', 'write rate => 100, per => ''1 second'', or concurrency => 10');
  elsif rate not between 1 and 1000000 or concurrency not between 1 and 1000000 or burst not between 1 and 1000000 then
    return pgsched_internal.refuse('PS000', 'rate, burst and concurrency must be whole numbers from 1 to 1000000', 'write rate => 100');
  elsif per is null or per not between interval '1 ms' and interval '366 days' or date_trunc('month', per) <> interval '0' then
    return pgsched_internal.refuse('PS000', '"per" must be an interval from 1 ms to 366 days, without months', 'write per => ''1 second''');
  elsif burst is not null and rate is null then
    return pgsched_internal.refuse('PS000', '"burst" needs "rate"', 'leave "burst" out, or write rate => 100');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_limit(integer, interval, integer, integer)
  is 'True for valid values of a limit; raises PS000 with a hint otherwise.';

create or replace function pgsched.set_limit(
  kind text, name text, rate integer default null, per interval default '1 second', burst integer default null,
  concurrency integer default null, actor text default null
) returns boolean language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  gate constant text := pgsched_internal.gate_of(kind, name);
begin
  perform pgsched_internal.check_said(null, set_limit.actor);
  perform pgsched_internal.check_administers();
  perform pgsched_internal.check_limit(rate, per, burst, concurrency);
  if kind = 'queue' and not exists (select from pgsched.queues q where q.name = set_limit.name) then
    perform pgsched_internal.refuse('PS010', format('there is no queue %L', set_limit.name), 'the names are in pgsched.queues');
  elsif kind = 'queue' and (select q.pulled from pgsched.queues q where q.name = set_limit.name) then
    perform pgsched_internal.refuse('PS011', format('the queue %L cannot have a limit, because consumers pull from it', set_limit.name),
      'let consumers claim smaller batches, or pause the queue');
  end if;
  insert into pgsched_internal.gates as g (name, events, period, burst, concurrency)
  values (gate, rate, case when rate is not null then per end, coalesce(set_limit.burst, 1), set_limit.concurrency)
  on conflict on constraint gates_pkey do update
    set events = excluded.events, period = excluded.period, burst = excluded.burst, concurrency = excluded.concurrency,
        -- Events that were drawn in advance at the old rate are converted to the new rate
        next_at = case when excluded.events is null then '-infinity'
                       else least(g.next_at, pgsched.now() + excluded.burst * (excluded.period / excluded.events)) end,
        updated_at = pgsched.now()
    where (g.events, g.period, g.burst, g.concurrency)
            is distinct from (excluded.events, excluded.period, excluded.burst, excluded.concurrency);
  if not found then
    return false;
  end if;
  perform pgsched_internal.notify_workers('gates');
  perform pgsched_internal.write_log('set limit', null, set_limit.actor, jsonb_strip_nulls(jsonb_build_object('kind', kind, 'name', set_limit.name,
    'rate', rate, 'per', case when rate is not null then per end, 'burst', set_limit.burst, 'concurrency', set_limit.concurrency)), 'limit', gate);
  return true;
end $$;
comment on function pgsched.set_limit(text, text, integer, interval, integer, integer, text)
  is 'Limits the executions of a client, for a host, in a queue or under a key. rate is the maximum number that begin in
each period, burst the number that may begin at once after a lull, and concurrency the maximum number that run at the
same time. Replaces any existing limit. True if anything changed. Raises PS000 for invalid values, PS010 for an unknown
queue, and PS011 for a queue that consumers pull from.';

create or replace function pgsched.drop_limit(kind text, name text, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  gate constant text := pgsched_internal.gate_of(kind, name);
begin
  perform pgsched_internal.check_said(null, drop_limit.actor);
  perform pgsched_internal.check_administers();
  update pgsched_internal.gates g set events = null, period = null, concurrency = null, updated_at = pgsched.now()
   where g.name = gate and num_nonnulls(g.events, g.concurrency) > 0;
  if not found then
    return false;
  end if;
  delete from pgsched_internal.gates g where g.name = gate and g.shut_until is null and g.recovers_from is null;
  perform pgsched_internal.notify_workers('gates');
  perform pgsched_internal.write_log('drop limit', null, drop_limit.actor, jsonb_build_object('kind', kind, 'name', drop_limit.name), 'limit', gate);
  return true;
end $$;
comment on function pgsched.drop_limit(text, text, text)
  is 'Removes a limit. Executions that it held continue at once. False if there was no such limit.';
