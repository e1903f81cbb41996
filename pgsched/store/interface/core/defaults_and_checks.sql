-- Functions used by defaults and CHECK constraints. They raise errors rather than return false, so that the error for a
-- rejected row says what to write instead. Some of them run with the rights of the inserting or reading role. To keep a
-- client from redefining one of our operators, each of these functions either pins its search path or has its names
-- resolved when it is created (`return …`).

create or replace function pgsched.now() returns timestamptz
  language sql stable parallel safe return pg_catalog.now();
comment on function pgsched.now() is 'The time that all scheduling uses: the start of the current transaction.';

-- A version 7 UUID (RFC 9562) with a fraction of the millisecond (method 3 of the RFC). Ids sort by the microsecond of
-- creation, so new rows share the right edge of their index, and the rows of one session keep their insertion order. An
-- id must be unique but need not be secret, so random() is good enough. gen_random_uuid() and uuidv7() cost seven times
-- as much on a server without OpenSSL, because each call opens /dev/urandom. The function is a single expression, so an
-- insert inlines it. The leading digit is 0 until the year 2527. The first of the 62 random bits is 0; new_id_in sets
-- it to 1.
create or replace function pgsched_internal.new_id() returns uuid language sql volatile parallel safe
  return ('0' || overlay(to_hex((date_part('epoch', clock_timestamp()) * 4096000)::bigint) placing '7' from 12 for 0)
    || to_hex(-9223372036854775808 | (random() * 2305843009213693440)::bigint))::uuid;
comment on function pgsched_internal.new_id()
  is 'A new version 7 UUID (RFC 9562). Ids sort by the microsecond of creation.';

create or replace function pgsched_internal.refuse(code text, message text, hint text) returns boolean
  language plpgsql volatile parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = refuse.code, message = left(refuse.message, 500), hint = left(refuse.hint, 500);
end $$;
comment on function pgsched_internal.refuse(text, text, text)
  is 'Raises an error with this SQLSTATE. The message and the hint are cut to 500 characters each. CHECK constraints
call it to explain a rejection.';

create or replace function pgsched_internal.check_said(note text, actor text) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if length(actor) not between 1 and 200 then
    return pgsched_internal.refuse('PS000', 'actor must be text of 1 to 200 characters', 'write actor => ''ann'', or leave it out');
  elsif length(note) > 1000 then
    return pgsched_internal.refuse('PS000', 'note must be at most 1000 characters', 'write note => ''see ticket 42'', or leave it out');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_said(text, text)
  is 'True if a note and an actor are valid for the audit log; raises PS000 otherwise.';

-- Reads the same forms as domain/duration.py; a test compares the two.
create or replace function pgsched_internal.length_of(duration text) returns interval
  language sql immutable parallel safe as $$ select replace(upper(btrim(duration, E' \t\r\n')), ',', '.')::interval $$;
comment on function pgsched_internal.length_of(text) is 'The interval for a duration such as PT5S or 1h30m.';

create or replace function pgsched_internal.is_duration(value jsonb, low interval, high interval) returns boolean
  language sql immutable parallel safe as $$
  select case when jsonb_typeof(value) = 'string' and btrim(value #>> '{}', E' \t\r\n')
      ~ ('^(?:[Pp](?=.)([0-9]{1,4}[Ww])?([0-9]{1,5}[Dd])?([Tt](?=.)([0-9]{1,6}[Hh])?([0-9]{1,8}[Mm])?([0-9]{1,9}([.,][0-9]{1,6})?[Ss])?)?'
         '|(?=.)([0-9]{1,4}w)?([0-9]{1,5}d)?([0-9]{1,6}h)?([0-9]{1,8}m)?([0-9]{1,9}([.][0-9]{1,6})?s)?([0-9]{1,12}ms)?)$')
         then pgsched_internal.length_of(value #>> '{}') between low and high else false end
$$;
comment on function pgsched_internal.is_duration(jsonb, interval, interval)
  is 'True if a JSON value is a duration within these bounds, such as "PT5S" or "1h30m".';
