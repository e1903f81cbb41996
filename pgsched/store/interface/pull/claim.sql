-- A consumer's claim finds due executions, one partition after another, and leases those that may be handed out. It
-- keeps locks only on tables in which it found something. So its statements name the table and are planned each time: a
-- cached plan for all partitions would lock all of them.

-- The functions that find rows do not read the rows' contents, so no row can make a function fail. A job's row whose
-- successor does not exist yet (plan > 0) is left to the workers: they plan the successor, and pass the row on before
-- it is due. The rows of one client are found by a separate index (executions_…_client), however many rows other
-- clients have in the partition.

-- An open transaction may have locked any number of rows, and a held client may have any number of due rows, which
-- claims skip until workers move them out of the way. So that the cost does not grow with the number of skipped rows, a
-- claim reads a few rows at first; if these are not enough, a few hundred; and finally rows that have come due
-- recently, and some randomly chosen pages of the table. Rows in between are found a little later.
create or replace function pgsched_internal.due_among(
  partition smallint, places text, most integer, clients text[], held text[], without uuid[], since timestamptz, depth integer, page bigint,
  out ids uuid[], out instants timestamptz[], out large boolean[], out looked_at integer
) language plpgsql volatile as $$
declare
  home constant text := format('%s e.partition = %s and', pgsched_internal.in_partition(due_among.partition), due_among.partition);
begin
  execute format(
    'with edge as materialized (%s), due as ('
    '  select e.id, e.fire_at::timestamptz as fire_at,'
    '         coalesce(pg_column_size(e.payload) > 2000 or pg_column_compression(e.payload) is not null, false) as is_large'
    '    from %s e.ctid = any (array(select edge.place from edge)) and e.fire_at <= $1'
    '     and (e.lease_token is null or e.lease_owner is null and e.lease_expires_at <= pgsched.now()) and coalesce(e.plan, 0) <= 0'
    '     and e.id <> all ($2) and %s order by e.fire_at limit $4 for update skip locked)'
    ' select coalesce(array_agg(due.id), ''{}''), coalesce(array_agg(due.fire_at), ''{}''), coalesce(array_agg(due.is_large), ''{}''),'
    '        (select count(*) from edge) from due',
    format(due_among.places, home), home, case when clients is null then 'e.client_id <> all ($3)' else 'e.client_id = any ($3)' end)
  into due_among.ids, due_among.instants, due_among.large, looked_at
  using pgsched.now(), without, case when clients is null then held else array(select unnest(clients) except select unnest(held)) end,
        most, due_among.since, depth, due_among.page;
end $$;
comment on function pgsched_internal.due_among(smallint, text, integer, text[], text[], uuid[], timestamptz, integer, bigint)
  is 'Locks due rows in given places of a partition, up to a limit. Called by due_in.';

-- If nothing is due in the partition, or none of its due rows can be locked, the block is rolled back and leaves no
-- lock behind.
create or replace function pgsched_internal.due_in(
  partition smallint, most integer, clients text[], held text[], without uuid[],
  out ids uuid[], out instants timestamptz[], out large boolean[]
) language plpgsql volatile as $$
declare
  edge constant text := case when clients is null
    then 'select e.ctid as place from %s e.fire_at >= $5 and e.fire_at <= $1 order by e.fire_at limit $6'
    else 'select due.place from unnest($3) as whose(client_id) cross join lateral ('
         '  select e.ctid as place from %s e.client_id = whose.client_id and e.fire_at >= $5 and e.fire_at <= $1 order by e.fire_at limit $6) due' end;
  few constant integer := least(4 * most + 16, 1000);
  many constant integer := greatest(few, 300);
  pages constant integer := 32;
  step record;
  found record;
begin
  ids := '{}';
  instants := '{}';
  large := '{}';
  for step in select * from (values (1, edge, '-infinity'::timestamptz, few), (2, edge, '-infinity', many), (3, edge, pgsched.now() - interval '2 seconds', many),
      (4, 'select e.ctid as place from %s e.ctid >= format(''(%%s,0)'', $7)::tid and e.ctid < format(''(%%s,0)'', $7 + $6)::tid', '-infinity', pages)
    ) as steps(number, places, since, depth) loop
    found := pgsched_internal.due_among(due_in.partition, step.places, most - cardinality(ids), clients, held, without || ids, step.since, step.depth,
      case step.number when 4 then floor(random() * (pg_relation_size(to_regclass('pgsched_internal.executions_' || due_in.partition))
                                                     / current_setting('block_size')::bigint))::bigint / pages * pages end);
    ids := ids || found.ids;
    instants := instants || found.instants;
    large := large || found.large;
    exit when cardinality(ids) >= most or step.number < 3 and found.looked_at < step.depth or step.number = 3 and clients is not null;
  end loop;
  if ids = '{}' then
    raise sqlstate 'PSUND';
  end if;
exception when sqlstate 'PSUND' then null;
when others then
  if not pgsched_internal.is_of_a_row(sqlstate) then
    raise;
  end if;
  raise warning 'no execution of partition % can be handed out: %', due_in.partition, sqlerrm;
  ids := '{}';
end $$;
comment on function pgsched_internal.due_in(smallint, integer, text[], text[], uuid[])
  is 'Locks due rows of a partition, up to a limit. If there is nothing to hand out, leaves no lock on the partition.';

-- Checks all partitions at once, because usually most of them are empty if the first is. Leaves no lock behind.
create or replace function pgsched_internal.not_empty(homes smallint[], clients text[]) returns smallint[] language plpgsql volatile as $$
declare
  found smallint[];
begin
  begin
    execute (
      select 'select array_remove(array[' || string_agg(format('case when exists (select from %s e.partition = %s and %s e.fire_at <= $1) then %s::smallint end',
          pgsched_internal.in_partition(h.home), h.home, case when clients is not null then 'e.client_id = any ($2) and' else '' end, h.home), ', ' order by h.n)
        || ']::smallint[], null)' from unnest(homes) with ordinality as h(home, n))
      into found using pgsched.now(), clients;
    raise sqlstate 'PSUND';
  exception when sqlstate 'PSUND' then null;
  end;
  return found;
end $$;
comment on function pgsched_internal.not_empty(smallint[], text[]) is 'Of these partitions, those that have a due row.';

-- Visits the partitions in random order, so that each gets its turn.
create or replace function pgsched_internal.due_to_pull(
  first smallint, wanted integer, share integer, clients text[], held text[], without uuid[],
  out homes smallint[], out ids uuid[], out large boolean[]
) language plpgsql volatile as $$
declare
  left_over smallint[] := array(select p from pgsched_internal.partitions_of(due_to_pull.first) p order by random());
  instants timestamptz[] := '{}';
  is_sifted boolean := false;
  found record;
  home smallint;
begin
  homes := '{}';
  ids := '{}';
  large := '{}';
  while cardinality(left_over) > 0 and cardinality(ids) < wanted loop
    home := left_over[1];
    left_over := left_over[2:];
    found := pgsched_internal.due_in(home, least(share, wanted - cardinality(ids)), clients, held, without);
    if found.ids <> '{}' then
      homes := homes || array_fill(home, array[cardinality(found.ids)]);
      ids := ids || found.ids;
      instants := instants || found.instants;
      large := large || found.large;
    elsif not is_sifted and left_over <> '{}' then
      left_over := pgsched_internal.not_empty(left_over, clients);
      is_sifted := true;
    end if;
  end loop;
  select array_agg(d.home order by d.fire_at), array_agg(d.id order by d.fire_at), array_agg(d.is_large order by d.fire_at)
    into homes, ids, large from unnest(homes, ids, instants, large) as d(home, id, fire_at, is_large);
end $$;
comment on function pgsched_internal.due_to_pull(smallint, integer, integer, text[], text[], uuid[])
  is 'Locks due rows of a queue, up to a limit in total and up to a share from each partition. Called by
pgsched.claim.';

-- A large payload is measured by the length of its text, which is what is sent.
create or replace function pgsched_internal.that_fit(homes smallint[], ids uuid[], large boolean[], room inout integer, out count integer)
  language plpgsql volatile as $$
declare
  size integer;
begin
  for n in 1..cardinality(ids) loop
    if large[n] then
      begin
        execute format('select octet_length(e.payload::text) from %s e.id = $1', pgsched_internal.in_partition(homes[n])) into size using ids[n];
        room := room - coalesce(size, 0);
      exception when others then  -- the lease reports the error
        if not pgsched_internal.is_of_a_row(sqlstate) then
          raise;
        end if;
      end;
    end if;
    count := n;
    exit when room <= 0;
  end loop;
end $$;
comment on function pgsched_internal.that_fit(smallint[], uuid[], boolean[], integer)
  is 'How many of these executions can be handed out together, given the size of their payloads, and how much room is
left afterwards. The last execution is the one that uses up the room.';

-- For a plain row, it is enough to write the lease. All other rows are checked one by one.
create or replace function pgsched_internal.lease_in(consumer pgsched_internal.consumer, partition smallint, ids uuid[])
  returns pgsched_internal.handed[] language plpgsql volatile as $$
declare
  spans constant text[] := array['relevant_for', 'deadline', 'max_retry_age'];
  leasing constant text := format(
    'with leased as (update %s e.id = any ($1) and ($5 or e.lease_token is null and e.target = ''queue:'' and e.ordering_key is null'
    '    and not coalesce(e.options ?| $6, false)'
    '    and not exists (select from pgsched.clients c where c.client_id = e.client_id and c.options ?| $6))'
    '  returning e.id, e.lease_token, e.attempt, e.attempt + coalesce(e.uncounted, 0), e.scheduled_for::timestamptz, e.client_id::text, e.key::text, e.ordering_key::text,'
    '            e.job_id, e.payload::jsonb, e.target::text, e.options::jsonb, e.lease_expires_at)'
    ' select array_agg(leased::pgsched_internal.handed) from leased',
    pgsched_internal.in_partition(lease_in.partition,
      'set fire_at = $2, scheduled_for = coalesce(e.scheduled_for, e.fire_at), attempt = e.attempt + 1, lease_token = $3,'
      ' lease_expires_at = $2, consumer = $4 '));
  is_hasty constant boolean := coalesce((select q.options ?| spans from pgsched.queues q where q.first_partition = pgsched_internal.first_partition_of(lease_in.partition)), false);
  token constant bigint := consumer.token | lease_in.partition;
  handed pgsched_internal.handed[] := '{}';
  judged pgsched_internal.handed[];
  rest uuid[] := ids;
begin
  if not is_hasty then
    execute leasing into handed using ids, consumer.until, token, consumer.name, false, spans;
    handed := coalesce(handed, '{}');
    rest := array(select i.id from unnest(ids) as i(id) where i.id not in (select h.id from unnest(handed) h));
  end if;
  rest := array(select i.id from unnest(rest) with ordinality as i(id, n)
                 where pgsched_internal.may_be_handed_out(lease_in.partition, i.id) order by i.n);
  if rest <> '{}' then
    execute leasing into judged using rest, consumer.until, token, consumer.name, true, spans;
  end if;
  return handed || coalesce(judged, '{}');
end $$;
comment on function pgsched_internal.lease_in(pgsched_internal.consumer, smallint, uuid[])
  is 'Of these executions of a partition, leases those that the consumer may have. Returns them in the form in which
they are handed out.';

-- Tries all rows at once and, if a row makes that fail, each half. A row that fails alone is parked, or left unchanged
-- if another transaction has locked what it needs. Waits only a moment for a lock.
create or replace function pgsched_internal.lease_to(
  consumer pgsched_internal.consumer, homes smallint[], ids uuid[], out handed pgsched_internal.handed[], out refused uuid[]
) language plpgsql volatile set lock_timeout = '5ms' as $$
declare
  half constant integer := cardinality(ids) / 2;
  part record;
  half_done record;
  state text;
  reason text;
begin
  handed := '{}';
  refused := '{}';
  begin
    for part in select h.home, array_agg(h.id order by h.n) as ids from unnest(homes, ids) with ordinality as h(home, id, n) group by h.home loop
      handed := handed || pgsched_internal.lease_in(consumer, part.home, part.ids);
    end loop;
    return;
  exception when others then
    state := sqlstate;
    reason := sqlerrm;
  end;
  handed := '{}';
  if not pgsched_internal.is_of_a_row(state) then
    raise exception using errcode = state, message = reason;
  elsif half > 0 then
    for half_done in
      select h.* from (values (homes[:half], ids[:half]), (homes[half + 1:], ids[half + 1:])) as halves(homes, ids),
                      pgsched_internal.lease_to(consumer, halves.homes, halves.ids) h
    loop
      handed := handed || half_done.handed;
      refused := refused || half_done.refused;
    end loop;
  else
    refused := ids;
    if not pgsched_internal.is_a_lock(state) then
      perform pgsched_internal.put_away(homes[1], ids[1], reason);
    end if;
  end if;
end $$;
comment on function pgsched_internal.lease_to(pgsched_internal.consumer, smallint[], uuid[])
  is 'Of these locked executions, leases those that the consumer may have. Returns the executions to hand out, and those
to skip because they could not be processed.';

create or replace function pgsched.claim(queue text, worker text, batch integer default 1, lease interval default '30 s')
  returns table (id uuid, token bigint, attempt smallint, delivery_count integer, scheduled_for timestamptz, client text, key text, ordering_key text,
                 job_id uuid, payload jsonb, target text, options jsonb, lease_expires_at timestamptz)
  language plpgsql volatile security definer rows 100 set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
declare
  first constant smallint := pgsched_internal.check_claim(queue, worker, batch, lease);
  clients constant text[] := pgsched_internal.clients_acted_for();
  consumer constant pgsched_internal.consumer := (worker, pgsched_internal.new_token(0::smallint), pgsched.now() + lease);
  share integer := ceil(batch::float8 / pgsched_internal.partitions_per_queue());
  room integer := 16777216;
  wanted integer := batch;
  held constant text[] := array(select c.client_id from pgsched.clients c where c.state = 'held');
  without uuid[] := '{}';
  due record;
  leased record;
  found integer;
  fitting integer;
begin
  if exists (select from pgsched.queues q where q.name = claim.queue and q.paused_at is not null)
     or exists (select from pgsched.installation i where i.held_since is not null) or pgsched_internal.is_elsewhere() then
    return;
  end if;
  for round in 1..20 loop
    due := pgsched_internal.due_to_pull(first, wanted, share, clients, held, without);
    found := coalesce(cardinality(due.ids), 0);
    if found = 0 then
      return;
    end if;
    select f.count, f.room into fitting, room from pgsched_internal.that_fit(due.homes, due.ids, due.large, room) f;
    leased := pgsched_internal.lease_to(consumer, due.homes[:fitting], due.ids[:fitting]);
    without := without || leased.refused;
    wanted := wanted - cardinality(leased.handed);
    return query select h.* from unnest(leased.handed) h order by array_position(due.ids, h.id);
    exit when wanted = 0 or room <= 0 or found < share and cardinality(leased.handed) = found;
    share := batch;
  end loop;
end $$;
comment on function pgsched.claim(text, text, integer, interval)
  is 'Hands out due executions of a pulled queue to a consumer, whose name is worker. batch is the maximum number of
executions; no more are added once the payloads exceed 16 MiB. Each execution comes with a lease and a token. If an
execution is not completed, failed, extended or released (pgsched.complete and so on) before its lease ends, a later
claim gets it. A client''s role gets only executions of its own client. Raises PS010 for an unknown queue, and PS011 for
a queue that workers serve.';
