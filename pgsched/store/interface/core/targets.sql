-- Hosts are compared by name, so each has one canonical form: in lower case, without a trailing dot, without port 80 or
-- 443, and without leading zeros in the port. An address must be given in canonical form: a resolver would read 0x7f.1
-- as 127.0.0.1.

create or replace function pgsched_internal.is_only_form(host text) returns boolean
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  plain constant text := lower(rtrim(host, '.'));
  inner_text constant text := btrim(plain, '[]');
  colons constant integer := length(inner_text) - length(replace(inner_text, ':', ''));
begin
  if plain not like '[%' then  -- a name, unless its last label is a number
    return plain !~ '(^|[.])([0-9]+|0x[0-9a-f]*)$'
        or plain ~ '^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])$';
  elsif inner_text !~ '^(([0-9a-f]{1,4}:)*[0-9a-f]{1,4})?(::(([0-9a-f]{1,4}:)*[0-9a-f]{1,4})?)?$'
     or (case when inner_text like '%::%' then colons > 7 else colons <> 7 end) then
    return false;
  end if;
  return host(inner_text::inet) = inner_text;  -- PostgreSQL writes addresses mapped to IPv4 with dots
end $$;
comment on function pgsched_internal.is_only_form(text)
  is 'True if a host (without a port) is a name, or an address in the form in which PostgreSQL writes it.';

create or replace function pgsched_internal.canonical_host(host text) returns text language sql immutable parallel safe
  return regexp_replace(regexp_replace(lower(host), '[.]?(:0*(80|443))?$', ''), '[.]?:0*([1-9][0-9]*)$', E':\\1');
comment on function pgsched_internal.canonical_host(text)
  is 'The canonical form of a host, in which hosts are compared. Includes the port, unless it is 80 or 443.';

create or replace function pgsched_internal.target_host(target text) returns text language sql immutable parallel safe
  return rtrim(lower(substring(target from '^[Hh][Tt][Tt][Pp][Ss]?://([[][^]]*[]]|[^/:?]*)')), '.');
comment on function pgsched_internal.target_host(text)
  is 'The host of an http: or https: target, in lower case and without its port; null for other targets.';

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
      return pgsched_internal.refuse('PS001', 'the target contains a user or password', 'put credentials into options => ''{"headers": {"Authorization": "…"}}''');
    elsif target !~ '^[A-Za-z]+://([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?|[[][0-9A-Fa-f:.]+[]])(:[0-9]{1,5})?([/?][!-~]*)?$' or target ~ '#'
       or target ~ '^[A-Za-z]+://[^/?:]*[.][.]' then
      return pgsched_internal.refuse('PS001', format('the target %L is not a URL that can be called', left(target, 100)),
        'write https://host[:port]/path, percent-encoded, without spaces or a fragment; write a name with non-ASCII letters in punycode, such as xn--bcher-kva.example');
    elsif coalesce(substring(target from '^[A-Za-z]+://(?:[[][^]]*[]]|[^/:?]*):([0-9]+)')::int, 1) not between 1 and 65535 then
      return pgsched_internal.refuse('PS001', 'the target''s port is not between 1 and 65535', 'write https://host:8443/path');
    elsif not pgsched_internal.is_only_form(pgsched_internal.target_host(target)) then
      return pgsched_internal.refuse('PS001', format('the host %L is an address that is not in canonical form', pgsched_internal.target_host(target)),
        'write four decimal numbers from 0 to 255, such as 192.0.2.7, or the shortest form of an IPv6 address that is not mapped to IPv4, such as [2001:db8::7]');
    end if;
  elsif scheme = 'python' and target !~ '^python:[A-Za-z_][A-Za-z0-9_.:-]{0,199}$' then
    return pgsched_internal.refuse('PS001', 'a python: target must name a handler', 'write python:send_email, the name given to @app.handler');
  elsif scheme = 'sql' and target !~ '^sql:[A-Za-z_][A-Za-z0-9_$]*[.][A-Za-z_][A-Za-z0-9_$]*$' then
    return pgsched_internal.refuse('PS001', 'a sql: target must name a function and its schema', 'write sql:billing.settle');
  elsif scheme = 'notify' and target !~ '^notify:[a-z_][a-z0-9_]{0,62}$' then
    return pgsched_internal.refuse('PS001', 'a notify: target must name a channel', 'write the channel in lower case, such as notify:orders');
  elsif scheme = 'notify' and target ~* '^notify:pgsched' then
    return pgsched_internal.refuse('PS001', 'channels that begin with pgsched are reserved', 'write notify:orders');
  elsif scheme = 'queue' and target <> 'queue:' then
    return pgsched_internal.refuse('PS001', 'a queue: target must have nothing after the colon', 'write queue: and name the queue with queue => ''orders''');
  elsif scheme = 'kafka' and target !~ '^kafka:[A-Za-z0-9._-]{1,249}$' then
    return pgsched_internal.refuse('PS001', 'a kafka: target must name a topic', 'write kafka:orders');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_target(text)
  is 'True for a target that pgsched can call; raises PS001 with a hint otherwise.';

-- A single expression, so that the claim inlines it.
create or replace function pgsched_internal.capability_of(target text) returns text language sql immutable parallel safe
  return case when target like 'kafka:%' then 'kafka:' when target like 'sql:%' then 'sql:' else target end;
comment on function pgsched_internal.capability_of(text)
  is 'The capability that a worker must declare to deliver a target.';
