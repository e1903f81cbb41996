create or replace function pgsched_internal.check_target(target text) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  scheme text := lower(substring(left(target, 100) from '^([A-Za-z][A-Za-z0-9+.-]*):'));
begin
  if target is null or target = '' then
    return pgsched_internal.refuse('PS001', 'the target is missing', 'write what to call, such as https://shop.example/settle or python:send_email');
  elsif length(target) > 2048 then
    return pgsched_internal.refuse('PS001', 'the target is longer than 2048 characters', 'put the data into the payload');
  elsif scheme is null or scheme not in ('http', 'https', 'python', 'sql', 'notify', 'queue', 'kafka') then
    return pgsched_internal.refuse('PS001', format('the target %L has no scheme that pgsched can call', left(target, 100)),
      'write one of https://host/path, python:name, sql:schema.function, notify:channel, queue: or kafka:topic');
  elsif scheme in ('http', 'https') then
    if target ~ '@' and target ~ '^[A-Za-z]+://[^/?#]*@' then
      return pgsched_internal.refuse('PS001', 'the target carries a user or password', 'put credentials into options => ''{"headers": {"Authorization": "…"}}''');
    elsif target !~ '^[A-Za-z]+://([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?|[[][0-9A-Fa-f:.]+[]])(:[0-9]{1,5})?([/?][!-~]*)?$' or target ~ '#' then
      return pgsched_internal.refuse('PS001', format('the target %L is not a URL that can be called', left(target, 100)),
        'write https://host[:port]/path, percent-encoded, with no spaces and no fragment');
    elsif coalesce(substring(target from '^[A-Za-z]+://(?:[[][^]]*[]]|[^/:?]*):([0-9]+)')::int, 1) not between 1 and 65535 then
      return pgsched_internal.refuse('PS001', 'the target''s port is not between 1 and 65535', 'write https://host:8443/path');
    end if;
  elsif scheme = 'python' and target !~ '^python:[A-Za-z_][A-Za-z0-9_.:-]{0,199}$' then
    return pgsched_internal.refuse('PS001', 'a python: target names a handler', 'write python:send_email, the name given to @app.handler');
  elsif scheme = 'sql' and target !~ '^sql:[A-Za-z_][A-Za-z0-9_$]*[.][A-Za-z_][A-Za-z0-9_$]*$' then
    return pgsched_internal.refuse('PS001', 'a sql: target names a function with its schema', 'write sql:billing.settle');
  elsif scheme = 'notify' and target !~ '^notify:[A-Za-z_][A-Za-z0-9_]{0,62}$' then
    return pgsched_internal.refuse('PS001', 'a notify: target names a channel', 'write notify:orders');
  elsif scheme = 'queue' and target <> 'queue:' then
    return pgsched_internal.refuse('PS001', 'a queue: target has nothing behind the colon', 'write queue: and name the queue with queue => ''orders''');
  elsif scheme = 'kafka' and target !~ '^kafka:[A-Za-z0-9._-]{1,249}$' then
    return pgsched_internal.refuse('PS001', 'a kafka: target names a topic', 'write kafka:orders');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_target(text) is 'True for a target that pgsched can call; raises PS001 with what to write otherwise.';

-- What a worker must be able to do to deliver a target. One expression, which becomes a part of the claim that calls it.
create or replace function pgsched_internal.capability_of(target text) returns text language sql immutable parallel safe
  return case when target like 'kafka:%' then 'kafka:' when target like 'sql:%' then 'sql:' else target end;
comment on function pgsched_internal.capability_of(text) is 'What a worker must be able to do to deliver a target, as workers declare it.';
