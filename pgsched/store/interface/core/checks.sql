-- Functions that defaults and CHECK constraints stand on. They raise rather than answer false, so that a refused
-- row says what to write instead. What is evaluated with the rights of whoever inserts or reads either pins its search path or has its
-- names looked up here, once (return …): else a client could give its own meaning to an operator of ours.

create or replace function pgsched.now() returns timestamptz
  language sql stable parallel safe return pg_catalog.now();
comment on function pgsched.now() is 'The time by which everything is scheduled: the start of the current transaction.';

-- RFC 9562 version 7 with a fraction of the millisecond (its method 3): ordered by the microsecond of creation, so that new
-- rows share the right edge of their index, and rows of one session have the order in which they were inserted. Made
-- from random(), seeded once a session: a server built without OpenSSL opens /dev/urandom for each gen_random_uuid() and
-- uuidv7(), at seven times the cost, and an id has to be unique, not secret. One expression, so that an insert has it
-- inlined; the leading digit is 0 until the year 2527. The first of the 62 random bits is 0: see new_id_in.
create or replace function pgsched.new_id() returns uuid language sql volatile parallel safe
  return ('0' || overlay(to_hex((date_part('epoch', clock_timestamp()) * 4096000)::bigint) placing '7' from 12 for 0)
    || to_hex(-9223372036854775808 | (random() * 2305843009213693440)::bigint))::uuid;
comment on function pgsched.new_id() is 'A new identity: a version 7 UUID (RFC 9562), ordered by the microsecond.';

create or replace function pgsched_internal.refuse(code text, message text, hint text) returns boolean
  language plpgsql volatile parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = refuse.code, message = left(refuse.message, 500), hint = left(refuse.hint, 500);
end $$;
comment on function pgsched_internal.refuse(text, text, text)
  is 'Raises an error of pgsched; the second half of a CHECK that explains itself. What it quotes may be of any length: it is cut off.';

create or replace function pgsched_internal.check_said(note text, actor text) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if length(actor) not between 1 and 200 then
    return pgsched_internal.refuse('PS000', 'actor must be text of 1 to 200 characters', 'write actor => ''ann'', or leave it out');
  elsif length(note) > 1000 then
    return pgsched_internal.refuse('PS000', 'note is at most 1000 characters', 'write note => ''see ticket 42'', or leave it out');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_said(text, text)
  is 'True for what the audit log keeps of why something was done, and by whom; raises PS000 otherwise.';

create or replace function pgsched_internal.slot_for(client_id text, key text, ordering_key text) returns smallint
  language sql immutable parallel safe
  as $$ select (hashtextextended(coalesce('o:' || ordering_key, 'k:' || key), hashtextextended(client_id, 0)) & 15)::smallint $$;
comment on function pgsched_internal.slot_for(text, text, text) is 'Which of its queue''s sixteen partitions a key lives in (0 to 15).';

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

-- The forms that domain/duration.py reads: a test holds the two against each other.
create or replace function pgsched_internal.length_of(duration text) returns interval
  language sql immutable parallel safe as $$ select replace(upper(btrim(duration, E' \t\r\n')), ',', '.')::interval $$;
comment on function pgsched_internal.length_of(text) is 'How long an option says, such as PT5S or 1h30m.';

create or replace function pgsched_internal.is_duration(value jsonb, low interval, high interval) returns boolean
  language sql immutable parallel safe as $$
  select case when jsonb_typeof(value) = 'string' and btrim(value #>> '{}', E' \t\r\n')
      ~ ('^(?:[Pp](?=.)([0-9]{1,4}[Ww])?([0-9]{1,5}[Dd])?([Tt](?=.)([0-9]{1,6}[Hh])?([0-9]{1,8}[Mm])?([0-9]{1,9}([.,][0-9]{1,6})?[Ss])?)?'
         '|(?=.)([0-9]{1,4}w)?([0-9]{1,5}d)?([0-9]{1,6}h)?([0-9]{1,8}m)?([0-9]{1,9}([.][0-9]{1,6})?s)?([0-9]{1,12}ms)?)$')
         then pgsched_internal.length_of(value #>> '{}') between low and high else false end
$$;
comment on function pgsched_internal.is_duration(jsonb, interval, interval) is 'True for JSON text such as "PT5S" or "1h30m" within bounds.';

-- Of a number jsonb stores the digits that are not zero, and how large it is: a few bytes are a hundred thousand characters of text,
-- each of which takes a millisecond to write that nothing interrupts. What is sent of a number says how many there are to be.
create or replace function pgsched_internal.digits_in(value jsonb) returns bigint language sql immutable parallel safe as $$
  select coalesce(sum(case when get_byte(n.sent, 2) < 128 then 4 * (get_byte(n.sent, 2) * 256 + get_byte(n.sent, 3)) else 0 end
                      + get_byte(n.sent, 6) * 256 + get_byte(n.sent, 7)), 0)
    from (select numeric_send(found::numeric) as sent
            from jsonb_path_query(value, 'strict $.** ? (@.type() == "number")') as found offset 0) n
$$;
comment on function pgsched_internal.digits_in(jsonb)
  is 'How many characters the numbers of a value have as text, at the least; four fewer of each at the most.';

-- Text has a quarter of the bytes of jsonb at the least. What has 2 kB has so few numbers that they may be written out, what has 20 kB
-- so few that none but the largest are too many; and to look through all of them takes longer than that.
create or replace function pgsched_internal.written_out(value jsonb, most integer) returns text
  language plpgsql immutable parallel safe as $$
declare
  plain constant jsonb := case when pg_column_compression(value) is null then value else jsonb_build_array(value) -> 0 end;
  stored constant integer := pg_column_size(plain);
  written text;
begin
  if stored > 4 * most + 1000
     or (stored > 20000 or stored > 2000 and coalesce(plain @@ '$.** >= 1e1000 || $.** <= -1e1000', false))
        and pgsched_internal.digits_in(plain) > most then
    return null;
  end if;
  written := plain::text;
  return case when octet_length(written) <= most then written end;
end $$;
comment on function pgsched_internal.written_out(jsonb, integer)
  is 'A value as text; null where that is longer than so many bytes, which is found out before much more than that is written.';

create or replace function pgsched_internal.check_length(value jsonb, name text, most integer) returns boolean
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return value is null or pgsched_internal.written_out(value, most) is not null
    or pgsched_internal.refuse('PS000', format('%s over the limit of %s KiB', name, most / 1024), 'write less');
end $$;
comment on function pgsched_internal.check_length(jsonb, text, integer) is 'True for a value of so many bytes as text; raises PS000 otherwise.';

create or replace function pgsched_internal.fault_of_json(value jsonb) returns text
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  written constant text := pgsched_internal.written_out(value, 1048576);
begin
  if written is null then
    return 'is over the limit of 1 MiB';
  elsif jsonb_path_exists(value, 'strict $.**{100} ? (@.type() == "array" || @.type() == "object")') then
    return 'is nested more than 100 deep';
  elsif octet_length(written) > 10000 and octet_length(written) > pg_column_size(value) + pg_column_size(value) / 4
        and strpos(written, repeat('0', 5000)) > 0
        and jsonb_path_exists(value, 'strict $.** ? (@.type() == "number" && (@ <= -1e10000 || @ >= 1e10000 || @ != 0 && @ < 1e-9990 && @ > -1e-9990))') then
    return 'has a number of more than 10000 digits';
  end if;
  return null;
end $$;
comment on function pgsched_internal.fault_of_json(jsonb)
  is 'Why a value is not taken as a payload or result: its size or depth, or the digits of a number; null where it is.';

create or replace function pgsched_internal.check_payload(payload jsonb) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  fault constant text := pgsched_internal.fault_of_json(payload);
begin
  return fault is null
    or pgsched_internal.refuse('PS003', 'the payload ' || fault, 'store the data elsewhere and schedule a reference to it');
end $$;
comment on function pgsched_internal.check_payload(jsonb)
  is 'True for a payload of at most 1 MiB as text, 100 levels, and 10,000 digits a number; raises PS003 otherwise.';

create or replace function pgsched_internal.check_result(result jsonb, hint text) returns boolean
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  fault constant text := case when pg_column_size(result) > 800 or pg_column_compression(result) is not null or octet_length(result::text) > 10000
                            then pgsched_internal.fault_of_json(result) end;
begin
  return fault is null or pgsched_internal.refuse('PS003', 'the result ' || fault, hint);
end $$;
comment on function pgsched_internal.check_result(jsonb, text) is 'True for a result that may be kept, as for a payload; raises PS003 otherwise.';

-- What a call sets by itself, what belongs to the connection, and what HTTP does not allow: as domain/headers.py has it.
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
    return pgsched_internal.refuse('PS004', 'headers are at most 50', 'put the data into the payload');
  elsif (select count(distinct lower(h)) < count(*) from jsonb_object_keys(headers) h) then
    return pgsched_internal.refuse('PS004', 'headers name one twice in different case', 'leave one of them');
  end if;
  for name, given in select h.key, h.value from jsonb_each(headers) h loop
    plain := lower(name collate "C");
    problem := case
      when jsonb_typeof(given) <> 'string' then 'headers must be an object of strings'
      when name !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,200}$' then format('headers have a name that HTTP does not allow, %L', left(name, 100))
      when plain in ('connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade')
        or plain like 'proxy-%' then format('headers must not set %s: it belongs to the connection, not to the request', name)
      when plain in ('accept-encoding', 'content-type', 'idempotency-key', 'traceparent', 'tracestate', 'user-agent')
        or plain like 'webhook-%' or plain like 'pgsched-%' then format('headers must not set %s: pgsched sets it on every call', name)
      when octet_length(given #>> '{}') > 8192 or given #>> '{}' !~ E'^([!-~]([ \t!-~]*[!-~])?)?$'
        then format('the header %s must be at most 8192 printable ASCII characters, without line breaks', name) end;
    if problem is not null then
      return pgsched_internal.refuse('PS004', problem, 'write {"headers": {"X-Shop": "42"}}');
    end if;
  end loop;
  return true;
end $$;
comment on function pgsched_internal.check_headers(jsonb) is 'True for headers that a call can carry; raises PS004 with what to write otherwise.';

create or replace function pgsched_internal.check_options(options jsonb) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  backoff jsonb;
  unknown text;
begin
  if jsonb_typeof(options) <> 'object' then
    return pgsched_internal.refuse('PS004', 'options must be a JSON object', 'write options => ''{"timeout": "PT5S"}''');
  elsif pgsched_internal.written_out(options, 65536) is null then
    return pgsched_internal.refuse('PS004', 'the options are over the limit of 64 KiB', 'put the data into the payload');
  end if;
  backoff := coalesce(options -> 'backoff', '{}');
  select string_agg(name, ', ') into unknown from jsonb_object_keys(options) as name
   where name not in ('timeout', 'max_attempts', 'backoff', 'relevant_for', 'max_retry_age', 'deadline', 'method', 'headers',
                      'retry_on', 'fail_on', 'on_success', 'on_failure', 'on_expired', 'limit_key', 'priority', 'ordering', 'deferred');
  if unknown is not null then
    return pgsched_internal.refuse('PS004', format('unknown option: %s', unknown),
      'the options are timeout, max_attempts, backoff, relevant_for, max_retry_age, deadline, method, headers, retry_on, fail_on, '
      'on_success, on_failure, on_expired, limit_key, priority, ordering and deferred');
  elsif options ? 'max_attempts' and (jsonb_typeof(options -> 'max_attempts') <> 'number'
      or (options ->> 'max_attempts')::numeric not between 1 and 1000
      or (options ->> 'max_attempts')::numeric % 1 <> 0) then
    return pgsched_internal.refuse('PS004', 'max_attempts must be a whole number from 1 to 1000', 'write {"max_attempts": 5}');
  elsif options ? 'timeout' and not pgsched_internal.is_duration(options -> 'timeout', '0.1 s', '24 h') then
    return pgsched_internal.refuse('PS004', 'timeout must be a duration from 0.1 s to 24 h', 'write {"timeout": "PT5S"} or {"timeout": "5s"}');
  elsif options ? 'deferred' and not pgsched_internal.is_duration(options -> 'deferred', '1 s', '30 days') then
    return pgsched_internal.refuse('PS004', 'deferred must be a duration from 1 s to 30 days', 'write {"deferred": "1h"}');
  elsif options ? 'headers' and not pgsched_internal.check_headers(options -> 'headers') then
    return false;
  elsif options ? 'method' and (jsonb_typeof(options -> 'method') <> 'string'
      or options ->> 'method' not in ('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD')) then
    return pgsched_internal.refuse('PS004', 'method must be GET, POST, PUT, PATCH, DELETE or HEAD', 'write {"method": "POST"}');
  elsif exists (select from unnest(array['relevant_for', 'max_retry_age', 'deadline']) as span
                 where options ? span and not pgsched_internal.is_duration(options -> span, '0.1 s', '3653 days')) then
    return pgsched_internal.refuse('PS004', 'relevant_for, max_retry_age and deadline must be durations from 0.1 s to 3653 days',
      'write {"relevant_for": "10m"}');
  elsif (case when jsonb_typeof(backoff) = 'array' then jsonb_array_length(backoff) not between 1 and 100 or exists (
          select from jsonb_array_elements(backoff) as wait where not pgsched_internal.is_duration(wait, '1 ms', '7 days')) end) then
    return pgsched_internal.refuse('PS004', 'a list as backoff has 1 to 100 waits, each a duration from 1 ms to 7 days',
      'write {"backoff": ["5s", "1m", "10m"]}');
  elsif jsonb_typeof(backoff) <> 'array' and (jsonb_typeof(backoff) <> 'object'
      or exists (select from jsonb_object_keys(case jsonb_typeof(backoff) when 'object' then backoff else '{}' end) k
                  where k not in ('initial', 'factor', 'maximum'))
      or (backoff ? 'initial' and not pgsched_internal.is_duration(backoff -> 'initial', '1 ms', '24 h'))
      or (backoff ? 'maximum' and not pgsched_internal.is_duration(backoff -> 'maximum', '1 ms', '7 days'))
      or (backoff ? 'factor' and not coalesce(jsonb_path_match(backoff, '$.factor >= 1 && $.factor <= 100', silent => true), false))) then
    return pgsched_internal.refuse('PS004', 'backoff has initial and maximum, which are durations, and factor, from 1 to 100; or it is a list of waits',
      'write {"backoff": {"initial": "1s", "factor": 2, "maximum": "1h"}}');
  elsif jsonb_typeof(backoff) = 'object' and backoff ? 'maximum'
      and pgsched_internal.seconds_in(backoff, 'maximum') < coalesce(pgsched_internal.seconds_in(backoff, 'initial'), 1) then
    return pgsched_internal.refuse('PS004', 'backoff.maximum must not be shorter than backoff.initial, which is 1s where it is left out',
      'write {"backoff": {"initial": "1s", "factor": 2, "maximum": "1h"}}');
  elsif exists (select from (values (options -> 'retry_on'), (options -> 'fail_on')) as l(codes)
                 where codes is not null and (jsonb_typeof(codes) <> 'array' or jsonb_array_length(codes) > 100 or jsonb_path_exists(codes,
                       'strict $[*] ? (@.type() != "number" || @ < 300 || @ > 599 || @.floor() != @)', silent => true))) then
    return pgsched_internal.refuse('PS004', 'retry_on and fail_on are lists of at most 100 status codes from 300 to 599',
      'write {"retry_on": [404], "fail_on": [500]}');
  elsif exists (select from jsonb_array_elements(options -> 'retry_on') r join jsonb_array_elements(options -> 'fail_on') f on r.value = f.value) then
    return pgsched_internal.refuse('PS004', 'retry_on and fail_on name the same status code', 'leave it in one of them');
  elsif options ? 'limit_key' and (jsonb_typeof(options -> 'limit_key') <> 'string'
      or length(options ->> 'limit_key') not between 1 and 200) then
    return pgsched_internal.refuse('PS004', 'limit_key must be text of 1 to 200 characters', 'write {"limit_key": "merchant-42"}');
  elsif options ? 'priority' and (jsonb_typeof(options -> 'priority') <> 'number' or (options ->> 'priority')::numeric not between -100 and 100
      or (options ->> 'priority')::numeric % 1 <> 0 or (options ->> 'priority') !~ '^-?[0-9]+$') then
    return pgsched_internal.refuse('PS004', 'priority must be a whole number from -100 to 100', 'write {"priority": 10}');
  elsif options ? 'ordering' and options -> 'ordering' not in ('"continue"', '"block"') then
    return pgsched_internal.refuse('PS004', 'ordering must be continue or block', 'write {"ordering": "block"}');
  elsif options ?| array['on_success', 'on_failure', 'on_expired'] then
    perform pgsched_internal.check_told(options, name) from unnest(array['on_success', 'on_failure', 'on_expired']) as name;
  end if;
  return true;
end $$;
create or replace function pgsched_internal.check_told(options jsonb, name text) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  if options ? name and jsonb_typeof(options -> name) <> 'string' then
    return pgsched_internal.refuse('PS004', format('%s must be a target', name), format('write {"%s": "https://shop.example/told"}', name));
  end if;
  return not options ? name or pgsched_internal.check_target(options ->> name);
end $$;
comment on function pgsched_internal.check_told(jsonb, text)
  is 'True where the target that is told the outcome can be called; raises PS004 or PS001 with what to write otherwise.';

comment on function pgsched_internal.check_options(jsonb) is 'True for delivery options pgsched knows; raises PS004 with what to write otherwise.';

create or replace function pgsched_internal.check_defaults(options jsonb) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  if jsonb_typeof(options) = 'object' and options ?| array['on_success', 'on_failure', 'on_expired', 'limit_key', 'priority', 'ordering', 'deferred'] then
    return pgsched_internal.refuse('PS004', 'on_success, on_failure, on_expired, limit_key, priority, ordering and deferred cannot be defaults', 'give them with each execution or job');
  end if;
  return pgsched_internal.check_options(options);
end $$;
comment on function pgsched_internal.check_defaults(jsonb)
  is 'True for options that can be the defaults of a client or a queue; raises PS004 with what to write otherwise.';

create or replace function pgsched_internal.attempts_in(options jsonb) returns numeric
  language sql immutable parallel safe as $$
  select coalesce((options ->> 'max_attempts')::numeric,
                  case jsonb_typeof(options -> 'backoff') when 'array' then jsonb_array_length(options -> 'backoff') + 1 end)
$$;
comment on function pgsched_internal.attempts_in(jsonb) is 'How many attempts these options allow; null where they do not say.';

-- Not in SQL: a statement would inline its body anew, which costs more than the insert of a row.
create or replace function pgsched_internal.check_partition(partition smallint, client_id text, key text, ordering_key text)
  returns boolean language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  return (partition & 15) = pgsched_internal.slot_for(client_id, key, ordering_key)
    or pgsched_internal.refuse('PS000', 'a row with a key or an ordering key lives in the partition of that key',
         'set partition to pgsched.partition_for(queue, client_id, key, ordering_key), or call pgsched.schedule');
end $$;
comment on function pgsched_internal.check_partition(smallint, text, text, text)
  is 'True for the partition in which a key lives; raises PS000 with what to write otherwise.';

-- The queue default has the first partitions, as the default of the column partition says too: no need to look.
create or replace function pgsched.partition_for(queue text, client_id text, key text default null, ordering_key text default null)
  returns smallint language plpgsql volatile parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  first smallint := 0;
begin
  if octet_length(client_id) > 400 or octet_length(key) > 800 or octet_length(ordering_key) > 800 then
    perform pgsched_internal.refuse('PS000', 'a client has a name of at most 100 characters, and a key or ordering key at most 200', 'give a shorter one');
  end if;
  if queue is distinct from 'default' then
    select q.first_partition into first from pgsched.queues q where q.name = partition_for.queue;
    if first is null then
      perform pgsched_internal.refuse('PS010', format('there is no queue %L', partition_for.queue), 'the names are in pgsched.queues');
    end if;
  end if;
  return first + coalesce(pgsched_internal.slot_for(client_id, key, ordering_key), floor(random() * 16)::smallint);
end $$;
comment on function pgsched.partition_for(text, text, text, text)
  is 'The partition for a row of this queue and key; a random one of the queue''s for a row with neither key.';
