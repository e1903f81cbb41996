-- What a consumer's claim does: it finds what is due, partition by partition, and leases what may be handed out. It touches its own
-- queue's tables alone, and keeps locks on those in which it found something. So statements name the table, and are planned
-- each time: a plan that is kept for all partitions would lock all of them.

-- What rows carry is not looked at here, so none of them makes it fail. A row of a job whose next row does not stand yet
-- (plan > 0) is left to the workers, which plan and pass it on before it is due. One client's rows are found by an index of
-- their own (executions_…_client), whatever others have there. For everybody's claims the rows of clients that are held are
-- passed over: then no more than so many rows are read, first what has become due lately and then from the beginning, and
-- workers move those rows out of the way.
create or replace function pgsched_internal.due_in(
  partition smallint, most integer, clients text[], held text[], lately boolean, without uuid[]
) returns table (id uuid, fire_at timestamptz, is_large boolean) language plpgsql volatile as $$
declare
  home constant text := format('%s e.partition = %s and', pgsched_internal.in_partition(due_in.partition), due_in.partition);
  low constant timestamptz := case when lately then pgsched.now() - interval '2 seconds' else '-infinity' end;
  until timestamptz;
  due constant text := format(
    'select e.id, e.fire_at::timestamptz, coalesce(pg_column_size(e.payload) > 2000 or pg_column_compression(e.payload) is not null, false)'
    '  from %s e.fire_at >= $1 and e.fire_at <= $2 and (e.lease_token is null or e.lease_owner is null and e.lease_expires_at <= pgsched.now())'
    '   and coalesce(e.plan, 0) <= 0 and e.id <> all ($3) and %s order by e.fire_at limit $4 for update skip locked',
    home, case when clients is null then 'e.client_id <> all ($5)' else 'e.client_id = whose.client_id' end);
begin
  if clients is null and held <> '{}' then
    execute format('select e.fire_at from %s e.fire_at >= $1 and e.fire_at <= $2 order by e.fire_at offset 1000 limit 1', home)
       into until using low, pgsched.now();
  end if;
  return query execute case when clients is null then due
    else 'select due.* from unnest($5) as whose(client_id) cross join lateral (' || due || ') due order by due.fire_at limit $4' end
    using low, coalesce(until, pgsched.now()), without, most,
          case when clients is null then held else array(select unnest(clients) except select unnest(held)) end;
end $$;
comment on function pgsched_internal.due_in(smallint, integer, text[], text[], boolean, uuid[])
  is 'Locks what is due in a partition of a queue, no more than so many. Called by pgsched.claim.';

-- The partitions in an order that is drawn, so that those of any come to their turn. One in which nothing is due, or where
-- rows cannot even be locked, is looked into in a block that is undone: it leaves no lock behind.
create or replace function pgsched_internal.due_to_pull(
  first smallint, wanted integer, share integer, clients text[], held text[], lately boolean, without uuid[],
  out homes smallint[], out ids uuid[], out large boolean[]
) language plpgsql volatile as $$
declare
  shift constant integer := floor(random() * 16);
  instants timestamptz[] := '{}';
  found_ids uuid[];
  found_instants timestamptz[];
  found_large boolean[];
  home smallint;
begin
  homes := '{}';
  ids := '{}';
  large := '{}';
  for slot in 0..15 loop
    exit when cardinality(ids) >= wanted;
    home := due_to_pull.first + (slot + shift) % 16;
    begin
      select array_agg(d.id), array_agg(d.fire_at), array_agg(d.is_large) into found_ids, found_instants, found_large
        from pgsched_internal.due_in(home, least(share, wanted - cardinality(ids)), clients, held, lately, without) d;
      if found_ids is null then
        raise sqlstate 'PSUND';
      end if;
      homes := homes || array_fill(home, array[cardinality(found_ids)]);
      ids := ids || found_ids;
      instants := instants || found_instants;
      large := large || found_large;
    exception when sqlstate 'PSUND' then null;
    when others then
      if not pgsched_internal.is_of_a_row(sqlstate) then
        raise;
      end if;
      raise warning 'nothing of partition % can be handed out: %', home, sqlerrm;
    end;
  end loop;
  select array_agg(d.home order by d.fire_at), array_agg(d.id order by d.fire_at), array_agg(d.is_large order by d.fire_at)
    into homes, ids, large from unnest(homes, ids, instants, large) as d(home, id, fire_at, is_large);
end $$;
comment on function pgsched_internal.due_to_pull(smallint, integer, integer, text[], text[], boolean, uuid[])
  is 'Locks what is due in a queue, no more than so many and no more than a share of each partition. Called by pgsched.claim.';

-- What is large is measured as the text that is sent.
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
      exception when others then  -- who leases it finds out
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
  is 'How many of these executions are handed out together, by the size of what they carry: the first that takes what room is left is the last; and how much room is left then.';

-- Plain is what can be handed out as it stands, nothing but a lease of it is written; the rest is judged one by one.
create or replace function pgsched_internal.lease_in(consumer pgsched_internal.consumer, partition smallint, ids uuid[])
  returns pgsched_internal.handed[] language plpgsql volatile as $$
declare
  spans constant text[] := array['relevant_for', 'deadline', 'max_retry_age'];
  leasing constant text := format(
    'with leased as (update %s e.id = any ($1) and ($5 or e.lease_token is null and e.target = ''queue:'' and e.ordering_key is null'
    '    and not coalesce(e.options ?| $6, false)'
    '    and not exists (select from pgsched.clients c where c.client_id = e.client_id and c.options ?| $6))'
    '  returning e.id, e.lease_token, e.attempt, e.scheduled_for::timestamptz, e.client_id::text, e.key::text, e.ordering_key::text,'
    '            e.job_id, e.payload::jsonb, e.target::text, e.options::jsonb, e.lease_expires_at)'
    ' select array_agg(leased::pgsched_internal.handed) from leased',
    pgsched_internal.in_partition(lease_in.partition,
      'set fire_at = $2, scheduled_for = coalesce(e.scheduled_for, e.fire_at), attempt = e.attempt + 1, lease_token = $3,'
      ' lease_expires_at = $2, consumer = $4 '));
  is_hasty constant boolean := coalesce((select q.options ?| spans from pgsched.queues q where q.first_partition = lease_in.partition & ~15), false);
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
  is 'Leases those of these executions of a partition that the consumer may have; what they are to be handed out as.';

-- All at once or, where that fails for the sake of one, by halves. Which one it was is put away, unless somebody else has
-- what it needs: then it stays as it is. Nobody is waited for longer than a moment.
create or replace function pgsched_internal.lease_to(
  consumer pgsched_internal.consumer, homes smallint[], ids uuid[], out handed pgsched_internal.handed[], out refused uuid[]
) language plpgsql volatile set lock_timeout = '50ms' as $$
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
  is 'Leases those of these executions, which are locked, that the consumer may have: what is to be handed out, and what could not be
dealt with and is to be passed over.';

create or replace function pgsched.claim(queue text, worker text, batch integer default 1, lease interval default '30 s')
  returns table (id uuid, token bigint, attempt smallint, scheduled_for timestamptz, client text, key text, ordering_key text,
                 job_id uuid, payload jsonb, target text, options jsonb, lease_expires_at timestamptz)
  language plpgsql volatile security definer rows 100 set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
declare
  first constant smallint := pgsched_internal.check_claim(queue, worker, batch, lease);
  clients constant text[] := pgsched_internal.clients_acted_for();
  consumer constant pgsched_internal.consumer := (worker, pgsched_internal.new_token(0::smallint), pgsched.now() + lease);
  share integer := (batch + 15) / 16;
  room integer := 16777216;
  wanted integer := batch;
  held constant text[] := array(select c.client_id from pgsched.clients c where c.state = 'held');
  lately boolean := clients is null and held <> '{}';
  without uuid[] := '{}';
  due record;
  leased record;
  found integer;
  fitting integer;
begin
  if exists (select from pgsched.queues q where q.name = claim.queue and q.paused_at is not null) then
    return;
  end if;
  for round in 1..20 loop
    due := pgsched_internal.due_to_pull(first, wanted, share, clients, held, lately, without);
    found := coalesce(cardinality(due.ids), 0);
    if found > 0 then
      select f.count, f.room into fitting, room from pgsched_internal.that_fit(due.homes, due.ids, due.large, room) f;
      leased := pgsched_internal.lease_to(consumer, due.homes[:fitting], due.ids[:fitting]);
      without := without || leased.refused;
      wanted := wanted - cardinality(leased.handed);
      return query select h.* from unnest(leased.handed) h order by array_position(due.ids, h.id);
      exit when wanted = 0 or room <= 0 or not lately and found < share and cardinality(leased.handed) = found;
    elsif not lately then
      return;
    end if;
    lately := lately and found > 0;
    share := batch;
  end loop;
end $$;
comment on function pgsched.claim(text, text, integer, interval)
  is 'Hands out what is due in a queue that is pulled, no more than batch and no more than 16 MiB of payloads, each under a lease and a token:
what is not completed, failed, extended or released (pgsched.complete and so on) by then, a later claim has. Worker says who claims. Gives a client''s role its own
executions alone. PS010 for an unknown queue, PS011 for one that workers serve.';
