-- Sidelined targets and held clients: gates that are shut, so that nothing passes. Workers also shut a gate between a
-- client and a host when the host fails.

create or replace function pgsched_internal.shut_gate(gate text, until timestamptz, reason text) returns boolean
  language plpgsql volatile as $$
begin  -- after this instant, a host recovers gradually, but a circuit is probed first
  insert into pgsched_internal.gates as g (name, shut_until, recovers_from, reason)
  values (gate, until, case when gate like 'host:%' and isfinite(until) then until end, reason)
  on conflict on constraint gates_pkey do update set shut_until = excluded.shut_until, recovers_from = excluded.recovers_from, reason = excluded.reason,
     openings = 0, updated_at = pgsched.now()
   where g.shut_until is distinct from excluded.shut_until;
  if not found then
    return false;
  end if;
  perform pgsched_internal.notify_workers('gates');
  return true;
end $$;
comment on function pgsched_internal.shut_gate(text, timestamptz, text)
  is 'Shuts a gate, so that nothing passes before this instant. False if the gate was already shut until then.';

create or replace function pgsched_internal.open_gate(gate text, gradually boolean default false) returns boolean
  language plpgsql volatile as $$
begin
  update pgsched_internal.gates g
     set shut_until = null, reason = null, updated_at = pgsched.now(),
         recovers_from = case when gradually then pgsched.now() end, next_at = greatest(g.next_at, pgsched.now())
   where g.name = gate and g.shut_until is not null;
  if not found then
    return false;
  end if;
  delete from pgsched_internal.gates g where g.name = gate and g.recovers_from is null and g.events is null and g.concurrency is null;
  perform pgsched_internal.notify_workers('gates');
  return true;
end $$;
comment on function pgsched_internal.open_gate(text, boolean)
  is 'Reopens a shut gate, at once or gradually; its limits apply again. False if it was not shut.';

create or replace function pgsched_internal.circuit_of(host text, client text) returns text
  language plpgsql immutable parallel safe as $$
declare
  called constant text := split_part(host, '/', 1);
  path constant text := substr(host, length(called) + 1);
  gate constant text := pgsched_internal.gate_of('host', called);
begin
  if client is null and path = '' then
    return gate;
  elsif client is null or path !~ '^[!->@-~]{0,200}$' then
    perform pgsched_internal.refuse('PS000', format('%L is not a host', left(host, 100)),
      'write it without scheme and path, such as shop.example or shop.example:8443; for one client, a path of at most 200 characters may follow, such as shop.example/settle');
  elsif length(client) not between 1 and 100 then
    perform pgsched_internal.refuse('PS000', 'the name of a client must be 1 to 100 characters', 'write client => ''payments''');
  end if;
  return 'circuit:' || pgsched_internal.canonical_host(called) || path || ' ' || client;
end $$;
comment on function pgsched_internal.circuit_of(text, text)
  is 'The gate between a client (or all clients) and a target host or a path of that host; raises PS000 for an invalid
name.';

create or replace function pgsched_internal.restore_target(gate text, host text, client text) returns boolean language plpgsql volatile as $$
declare
  restored boolean := false;
  name text;
begin
  for name in  -- includes all paths of a host
    select g.name from pgsched_internal.gates g
     where g.name = gate or (g.client_id = restore_target.client and position('/' in host) = 0
                             and starts_with(g.name, 'circuit:' || pgsched_internal.canonical_host(host) || '/')) order by g.name
  loop
    restored := pgsched_internal.open_gate(name, gradually => true) or restored;
  end loop;
  return restored;
end $$;
comment on function pgsched_internal.restore_target(text, text, text)
  is 'Resumes calls to a target host that was paused, by hand or because it failed: a few executions a second at first,
then at an increasing rate. False if it was not paused.';

create or replace function pgsched_internal.check_may_sideline(client text) returns boolean language plpgsql stable as $$
begin
  if client is not null then
    return pgsched_internal.check_may_set(client);
  elsif not has_table_privilege(pgsched_internal.acting_role(), 'pgsched_internal.gates', 'UPDATE') and not pgsched_internal.api_administers() then
    return pgsched_internal.refuse('PS012', format('%I is not allowed to sideline a host for all clients', pgsched_internal.acting_role()), 'name your client, with client => ''payments''');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_may_sideline(text)
  is 'True if the session may sideline a host for this client, or for all clients (null); raises PS000 or PS012
otherwise.';
