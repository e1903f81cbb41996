-- Checks the options of an execution: how it is delivered and retried, and which targets are notified of its outcome.

create or replace function pgsched_internal.is_secret_ref(given jsonb) returns boolean
  language sql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
  select jsonb_typeof(given) = 'object' and given - 'secret' - 'prefix' = '{}' and jsonb_typeof(given -> 'secret') is not distinct from 'string'
    and given ->> 'secret' ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'
    and (not given ? 'prefix' or jsonb_typeof(given -> 'prefix') = 'string' and given ->> 'prefix' ~ '^[ -~]{0,100}$')
$$;
comment on function pgsched_internal.is_secret_ref(jsonb)
  is 'True for a reference to a secret, such as {"secret": "shop-token", "prefix": "Bearer "}.';

-- Rejects headers that pgsched sets itself, that belong to the connection, or that HTTP does not allow.
-- domain/headers.py checks the headers again with their secrets filled in.
create or replace function pgsched_internal.check_headers(headers jsonb) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  name text;
  given jsonb;
  plain text;
  problem text;
begin
  if jsonb_typeof(headers) <> 'object' then
    return pgsched_internal.refuse('PS004', 'headers must be an object of strings', 'write {"headers": {"X-Shop": "42"}}');
  elsif (select count(*) from jsonb_object_keys(headers)) > 50 then
    return pgsched_internal.refuse('PS004', 'there are more than 50 headers', 'put the data into the payload');
  elsif (select count(distinct lower(h)) < count(*) from jsonb_object_keys(headers) h) then
    return pgsched_internal.refuse('PS004', 'headers contain the same name twice, with different capitalization', 'remove one of the two');
  end if;
  for name, given in select h.key, h.value from jsonb_each(headers) h loop
    plain := lower(name collate "C");
    problem := case
      when jsonb_typeof(given) <> 'string' and not pgsched_internal.is_secret_ref(given) then 'headers must be an object of strings and references to secrets'
      when name !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,200}$' then format('headers contain a name that HTTP does not allow, %L', left(name, 100))
      when plain in ('connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade')
        or plain like 'proxy-%' then format('headers must not set %s, which belongs to the connection, not to the request', name)
      when plain in ('accept-encoding', 'content-type', 'idempotency-key', 'traceparent', 'tracestate', 'user-agent')
        or plain like 'webhook-%' or plain like 'pgsched-%' then format('headers must not set %s, which pgsched sets on every call', name)
      when jsonb_typeof(given) = 'object' then null
      when octet_length(given #>> '{}') > 8192 or given #>> '{}' !~ E'^([!-~]([ \t!-~]*[!-~])?)?$'
        then format('the header %s must be at most 8192 printable ASCII characters, without line breaks', name) end;
    if problem is not null then
      return pgsched_internal.refuse('PS004', problem, 'write {"headers": {"X-Shop": "42"}}');
    end if;
  end loop;
  return true;
end $$;
comment on function pgsched_internal.check_headers(jsonb)
  is 'True if a request can carry these headers; raises PS004 with a hint otherwise.';

-- The error does not quote the value, which may be a secret that was put here by mistake.
create or replace function pgsched_internal.check_auth(auth jsonb) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  given constant jsonb := case when jsonb_typeof(auth) = 'object' then coalesce(auth -> 'oauth2', auth -> 'google') end;
  named constant text := case when auth ? 'google' then 'key' else 'client_secret' end;
  known constant text[] := case when auth ? 'google' then array['key', 'audience']
    else array['token_url', 'client_id', 'client_secret', 'scope', 'audience'] end;
begin
  if jsonb_typeof(given) is distinct from 'object' or (select count(*) from jsonb_object_keys(auth)) <> 1
      or exists (select from jsonb_each(given) e where e.key <> all (known) or jsonb_typeof(e.value) <> 'string' or length(e.value #>> '{}') not between 1 and 2000)
      or given ->> named !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' or not given ? named
      or auth ? 'oauth2' and (not given ?& array['token_url', 'client_id'] or given ->> 'token_url' !~* '^https?://'
                              or not pgsched_internal.check_target(given ->> 'token_url')) then
    return pgsched_internal.refuse('PS004', 'auth must be oauth2, with token_url, client_id and the name of a secret as client_secret, or google, with the name of a secret as key',
      'write {"auth": {"oauth2": {"token_url": "https://login.example/token", "client_id": "pgsched", "client_secret": "shop-oauth"}}}');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_auth(jsonb)
  is 'True for a valid auth option, which says how to get a token for the target; raises PS004 with a hint otherwise.';

create or replace function pgsched_internal.check_backoff(backoff jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  example constant text := 'write {"backoff": {"initial": "1s", "factor": 2, "maximum": "1h"}}';
begin
  if jsonb_typeof(backoff) = 'array' then
    return jsonb_array_length(backoff) between 1 and 100 and not exists (
        select from jsonb_array_elements(backoff) as wait where not pgsched_internal.is_duration(wait, '1 ms', '7 days'))
      or pgsched_internal.refuse('PS004', 'a backoff list must have 1 to 100 waits, each a duration from 1 ms to 7 days',
           'write {"backoff": ["5s", "1m", "10m"]}');
  elsif jsonb_typeof(backoff) <> 'object' or exists (
        select from jsonb_object_keys(case jsonb_typeof(backoff) when 'object' then backoff else '{}' end) k
         where k not in ('initial', 'factor', 'maximum'))
      or (backoff ? 'initial' and not pgsched_internal.is_duration(backoff -> 'initial', '1 ms', '24 h'))
      or (backoff ? 'maximum' and not pgsched_internal.is_duration(backoff -> 'maximum', '1 ms', '7 days'))
      or (backoff ? 'factor' and not coalesce(jsonb_path_match(backoff, '$.factor >= 1 && $.factor <= 100', silent => true), false)) then
    return pgsched_internal.refuse('PS004',
      'backoff must have initial and maximum, which are durations, and factor, from 1 to 100; or be a list of waits', example);
  elsif backoff ? 'maximum' and pgsched_internal.seconds_in(backoff, 'maximum') < coalesce(pgsched_internal.seconds_in(backoff, 'initial'), 1) then
    return pgsched_internal.refuse('PS004',
      'backoff.maximum must not be shorter than backoff.initial, which is 1s if left out', example);
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_backoff(jsonb)
  is 'True for a valid backoff option; raises PS004 with a hint otherwise.';

create or replace function pgsched_internal.check_retries(options jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if options ? 'max_attempts' and (jsonb_typeof(options -> 'max_attempts') <> 'number'
      or (options ->> 'max_attempts')::numeric not between 1 and 1000
      or (options ->> 'max_attempts')::numeric % 1 <> 0) then
    return pgsched_internal.refuse('PS004', 'max_attempts must be a whole number from 1 to 1000', 'write {"max_attempts": 5}');
  elsif options ? 'backoff' and not pgsched_internal.check_backoff(options -> 'backoff') then
    return false;
  elsif exists (select from (values (options -> 'retry_on'), (options -> 'fail_on')) as l(codes)
                 where codes is not null and (jsonb_typeof(codes) <> 'array' or jsonb_array_length(codes) > 100 or jsonb_path_exists(codes,
                       'strict $[*] ? (@.type() != "number" || @ < 300 || @ > 599 || @.floor() != @)', silent => true))) then
    return pgsched_internal.refuse('PS004', 'retry_on and fail_on must be lists of at most 100 status codes from 300 to 599',
      'write {"retry_on": [404], "fail_on": [500]}');
  elsif exists (select from jsonb_array_elements(options -> 'retry_on') r join jsonb_array_elements(options -> 'fail_on') f on r.value = f.value) then
    return pgsched_internal.refuse('PS004', 'retry_on and fail_on name the same status code', 'remove it from one of them');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_retries(jsonb)
  is 'True for valid retry options; raises PS004 with a hint otherwise.';

create or replace function pgsched_internal.check_body_option(body jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  return case when jsonb_typeof(body) = 'object' then
      coalesce(jsonb_typeof(body -> 'format') = 'string' and body ->> 'format' in ('text', 'form', 'base64'), false)
      and body - 'format' - 'type' = '{}'
      and (not body ? 'type' or body ->> 'format' <> 'form' and jsonb_typeof(body -> 'type') = 'string' and length(body ->> 'type') <= 200
           and body ->> 'type' ~ '^[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}( ?; ?[A-Za-z0-9!#$&^_.+-]{1,100}=([A-Za-z0-9!#$&^_.+-]{1,100}|"[A-Za-z0-9!#$&^_.+ :;,/=?()-]{0,100}"))*$')
      else false end
    or pgsched_internal.refuse('PS004', 'body must have a format (text, form or base64), and may have a type (a media type) with text or base64',
         'write {"body": {"format": "text", "type": "text/csv"}}');
end $$;
comment on function pgsched_internal.check_body_option(jsonb)
  is 'True for a valid body option, which says how a payload is encoded; raises PS004 with a hint otherwise.';

create or replace function pgsched_internal.check_body(payload jsonb, body jsonb) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  kind constant text := jsonb_typeof(payload);
  fits boolean;
begin
  perform pgsched_internal.check_body_option(body);
  case body ->> 'format'
    when 'text' then fits := kind = 'string';
    when 'base64' then fits := kind = 'string' and length(payload #>> '{}') % 4 = 0 and payload #>> '{}' ~ '^[A-Za-z0-9+/]*={0,2}$';
    else fits := kind = 'object' and not jsonb_path_exists(payload,
      'strict $.* ? (@.type() == "object" || @.type() == "null" || @.type() == "array" && exists (@[*] ? (@.type() == "object" || @.type() == "null" || @.type() == "array")))');
  end case;
  return payload is null or fits
    or pgsched_internal.refuse('PS003', format('the payload does not fit the body format %s', body ->> 'format'),
         case body ->> 'format' when 'text' then 'write a JSON string' when 'base64' then 'write a JSON string with the base64 of the bytes, without spaces'
           else 'write an object of strings, numbers and booleans, or lists of them' end);
end $$;
comment on function pgsched_internal.check_body(jsonb, jsonb)
  is 'True if a payload can be encoded as the body option says; raises PS003 with a hint otherwise.';

create or replace function pgsched_internal.check_delivery(options jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if options ? 'timeout' and not pgsched_internal.is_duration(options -> 'timeout', '0.1 s', '24 h') then
    return pgsched_internal.refuse('PS004', 'timeout must be a duration from 0.1 s to 24 h', 'write {"timeout": "PT5S"} or {"timeout": "5s"}');
  elsif options ? 'deferred' and not pgsched_internal.is_duration(options -> 'deferred', '1 s', '30 days') then
    return pgsched_internal.refuse('PS004', 'deferred must be a duration from 1 s to 30 days', 'write {"deferred": "1h"}');
  elsif options ? 'headers' and not pgsched_internal.check_headers(options -> 'headers') then
    return false;
  elsif options ? 'auth' and not pgsched_internal.check_auth(options -> 'auth') then
    return false;
  elsif options ? 'auth' and exists (select from jsonb_object_keys(options -> 'headers') h where lower(h collate "C") = 'authorization') then
    return pgsched_internal.refuse('PS004', 'auth sets the header Authorization', 'leave Authorization out of headers');
  elsif options ? 'tls' and (case when jsonb_typeof(options -> 'tls') = 'object' then
      not options -> 'tls' ? 'certificate' or (options -> 'tls') - 'certificate' - 'key' <> '{}' or exists (
        select from jsonb_each(options -> 'tls') part
         where jsonb_typeof(part.value) <> 'string' or part.value #>> '{}' !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$')
      else true end) then
    return pgsched_internal.refuse('PS004', 'tls must name the secrets with a certificate and its key; leave "key" out if one secret has both',
      'write {"tls": {"certificate": "bank-certificate", "key": "bank-key"}}');
  elsif options ? 'method' and (jsonb_typeof(options -> 'method') <> 'string'
      or options ->> 'method' not in ('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD')) then
    return pgsched_internal.refuse('PS004', 'method must be GET, POST, PUT, PATCH, DELETE or HEAD', 'write {"method": "POST"}');
  elsif exists (select from unnest(array['relevant_for', 'max_retry_age', 'deadline']) as span
                 where options ? span and not pgsched_internal.is_duration(options -> span, '0.1 s', '3653 days')) then
    return pgsched_internal.refuse('PS004', 'relevant_for, max_retry_age and deadline must be durations from 0.1 s to 3653 days',
      'write {"relevant_for": "10m"}');
  elsif options ? 'limit_key' and (jsonb_typeof(options -> 'limit_key') <> 'string'
      or length(options ->> 'limit_key') not between 1 and 200) then
    return pgsched_internal.refuse('PS004', 'limit_key must be text of 1 to 200 characters', 'write {"limit_key": "merchant-42"}');
  elsif options ? 'priority' and (jsonb_typeof(options -> 'priority') <> 'number' or (options ->> 'priority')::numeric not between -100 and 100
      or (options ->> 'priority')::numeric % 1 <> 0 or (options ->> 'priority') !~ '^-?[0-9]+$') then
    return pgsched_internal.refuse('PS004', 'priority must be a whole number from -100 to 100', 'write {"priority": 10}');
  elsif options ? 'ordering' and options -> 'ordering' not in ('"continue"', '"block"') then
    return pgsched_internal.refuse('PS004', 'ordering must be continue or block', 'write {"ordering": "block"}');
  elsif options ? 'body' and not pgsched_internal.check_body_option(options -> 'body') then
    return false;
  elsif options ? 'keep_answer' and jsonb_typeof(options -> 'keep_answer') <> 'boolean' then
    return pgsched_internal.refuse('PS004', 'keep_answer must be true or false', 'write {"keep_answer": true}');
  elsif options ? 'cloudevent' and (case when jsonb_typeof(options -> 'cloudevent') = 'object' then
      (options -> 'cloudevent') - 'type' - 'source' <> '{}' or exists (
        select from unnest(array['type', 'source']) as part
         where jsonb_typeof(options -> 'cloudevent' -> part) is distinct from 'string'
            or options -> 'cloudevent' ->> part !~ '^[A-Za-z0-9!#$&''()*+,./:;=?@_~-]{1,200}$')
      else true end) then
    return pgsched_internal.refuse('PS004', 'cloudevent must have a type and a source, each of at most 200 characters',
      'write {"cloudevent": {"type": "com.example.shop.paid", "source": "/shop/orders"}}');
  elsif options ? 'traceparent' and (jsonb_typeof(options -> 'traceparent') <> 'string'
      or options ->> 'traceparent' !~ '^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$') then
    return pgsched_internal.refuse('PS004', 'traceparent must be in W3C Trace Context format',
      'write {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_delivery(jsonb)
  is 'True for valid delivery options, such as method, deadline and priority; raises PS004 with a hint otherwise.';

create or replace function pgsched_internal.check_told(options jsonb, name text) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  if options ? name and jsonb_typeof(options -> name) <> 'string' then
    return pgsched_internal.refuse('PS004', format('%s must be a target', name), format('write {"%s": "https://shop.example/told"}', name));
  end if;
  return not options ? name or pgsched_internal.check_target(options ->> name);
end $$;
comment on function pgsched_internal.check_told(jsonb, text)
  is 'True if the option with this name is a valid target to notify of the outcome, or is not set; raises PS004 or PS001
with a hint otherwise.';

create or replace function pgsched_internal.check_options(options jsonb) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  unknown text;
begin
  if jsonb_typeof(options) <> 'object' then
    return pgsched_internal.refuse('PS004', 'options must be a JSON object', 'write options => ''{"timeout": "PT5S"}''');
  elsif pgsched_internal.written_out(options, 65536) is null then
    return pgsched_internal.refuse('PS004', 'the options are over the limit of 64 KiB', 'put the data into the payload');
  end if;
  select string_agg(name, ', ') into unknown from jsonb_object_keys(options) as name
   where name not in ('timeout', 'max_attempts', 'backoff', 'relevant_for', 'max_retry_age', 'deadline', 'method', 'headers', 'auth', 'tls',
                      'retry_on', 'fail_on', 'on_success', 'on_failure', 'on_expired', 'limit_key', 'priority', 'ordering', 'deferred',
                      'traceparent', 'cloudevent', 'keep_answer', 'body');
  if unknown is not null then
    return pgsched_internal.refuse('PS004', format('unknown option: %s', unknown),
      'the options are timeout, max_attempts, backoff, relevant_for, max_retry_age, deadline, method, headers, auth, tls, retry_on, fail_on, '
      'on_success, on_failure, on_expired, limit_key, priority, ordering, deferred, traceparent, cloudevent, keep_answer and body');
  end if;
  if options ?| array['max_attempts', 'backoff', 'retry_on', 'fail_on'] then
    perform pgsched_internal.check_retries(options);
  end if;
  perform pgsched_internal.check_delivery(options);
  if options ?| array['on_success', 'on_failure', 'on_expired'] then
    perform pgsched_internal.check_told(options, name) from unnest(array['on_success', 'on_failure', 'on_expired']) as name;
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_options(jsonb)
  is 'True for valid options of an execution; raises PS004 with a hint otherwise.';

create or replace function pgsched_internal.check_defaults(options jsonb) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  if jsonb_typeof(options) = 'object' and options ?| array['on_success', 'on_failure', 'on_expired', 'limit_key', 'priority', 'ordering', 'deferred', 'traceparent', 'body'] then
    return pgsched_internal.refuse('PS004', 'on_success, on_failure, on_expired, limit_key, priority, ordering, deferred, traceparent and body cannot be defaults', 'give them with each execution or job');
  end if;
  return pgsched_internal.check_options(options);
end $$;
comment on function pgsched_internal.check_defaults(jsonb)
  is 'True for options that can be defaults of a client or a queue; raises PS004 with a hint otherwise.';

create or replace function pgsched_internal.attempts_in(options jsonb) returns numeric
  language sql immutable parallel safe as $$
  select coalesce((options ->> 'max_attempts')::numeric,
                  case jsonb_typeof(options -> 'backoff') when 'array' then jsonb_array_length(options -> 'backoff') + 1 end)
$$;
comment on function pgsched_internal.attempts_in(jsonb)
  is 'The number of attempts that these options allow; null if the options set no limit.';
