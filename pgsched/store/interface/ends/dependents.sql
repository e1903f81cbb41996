-- Releases or skips the dependents of an ended execution: the executions that wait for it.

-- The caller has locked the waiting rows. Only dependents that will never fire are processed one by one.
create or replace function pgsched_internal.skip_dependents(ids uuid[]) returns uuid[] language plpgsql volatile as $$
declare
  failed record;
  waiting pgsched.executions;
  skipped uuid[] := '{}';
begin
  for failed in
    select distinct on (d.execution_id) d.execution_id, d.after_id, d.status from pgsched.dependencies d
     where d.execution_id = any (ids) and d.outcome = 'success' and d.status <> 'succeeded'
     order by d.execution_id, d.after_id
  loop
    delete from pgsched.executions e where e.id = failed.execution_id returning * into waiting;
    perform pgsched_internal.end_execution(waiting, 'skipped', format('execution %s, which it waited for, %s%s', failed.after_id,
      case when failed.status in ('cancelled', 'skipped') then 'was ' else '' end, failed.status),
      result => jsonb_build_object('after', (select jsonb_object_agg(d.after_id, d.outcome) from pgsched.dependencies d
                                              where d.execution_id = failed.execution_id)));  -- kept for a later replay
    skipped := skipped || failed.execution_id;
  end loop;
  return skipped;
end $$;
comment on function pgsched_internal.skip_dependents(uuid[])
  is 'Of these held executions, skips those that wait for the success of an execution that did not succeed. Returns
their ids.';

create or replace function pgsched_internal.fire_dependents(ids uuid[]) returns uuid[] language plpgsql volatile as $$
declare
  fired record;
  all_fired uuid[] := '{}';
begin
  for fired in
    with ready as (
      select d.execution_id as id, max(d.finished_at + coalesce(d.delay, interval '0')) as earliest from pgsched.dependencies d
       where d.execution_id = any (ids)
       group by d.execution_id having bool_and(d.status is not null and (d.outcome = 'any' or d.status = 'succeeded'))
    ), moved as (
      update pgsched.executions e
         set fire_at = greatest(e.scheduled_for, r.earliest, pgsched.now()),
             scheduled_for = coalesce(e.scheduled_for, greatest(r.earliest, pgsched.now()))
        from ready r where e.id = any (array[r.id])
      returning e.id, e.partition, e.fire_at
    )
    select partition, min(fire_at) as fire_at, array_agg(id) as ids from moved group by partition
  loop
    perform pgsched_internal.notify_wake(fired.partition, fired.fire_at);
    all_fired := all_fired || fired.ids;
  end loop;
  return all_fired;
end $$;
comment on function pgsched_internal.fire_dependents(uuid[])
  is 'Of these held executions, releases those that no longer wait for anything. Returns their ids.';

-- An end may have any number of dependents, so a limited number is read at a time, in order of id. Dependents that
-- another transaction has locked do not delay the others.
create or replace function pgsched_internal.dependents_of(ids uuid[], behind uuid, most integer, out dependents uuid[], out reached integer)
  language plpgsql stable as $$
begin
  dependents := '{}';
  for n in 1..cardinality(ids) loop
    reached := n;
    dependents := dependents || array(
      select d.execution_id from pgsched.dependencies d
       where d.after_id = ids[n] and d.status is null
         and d.execution_id > coalesce(case when n = 1 then behind end, '00000000-0000-0000-0000-000000000000')
       order by d.execution_id limit most - cardinality(dependents));
    exit when cardinality(dependents) >= most;
  end loop;
end $$;
comment on function pgsched_internal.dependents_of(uuid[], uuid, integer)
  is 'The first executions that wait for these ends, up to a limit, and the index of the last end that was checked. For
the first end, only executions with ids after behind are returned.';

-- Locks the waiting rows. The dependencies of rows that another transaction has locked stay open for a later pass. What
-- the rows still wait for is read by a later statement, so that the second of two concurrent transactions sees the end
-- that the first recorded. An end affects only executions of its own client. An end without a client (null) stands in
-- for a missing execution, and affects executions of any client.
create or replace function pgsched_internal.note_ends(
  ids uuid[], statuses pgsched.execution_status[], ends timestamptz[], clients text[], dependents uuid[]
) returns integer language plpgsql volatile as $$
declare
  waiting uuid[];
  decided uuid[];
begin
  waiting := array(
    select e.id from pgsched.executions e
     where e.id = any (dependents) and e.fire_at = 'infinity' and e.lease_token is null
     order by e.id for update skip locked);
  update pgsched.dependencies d set status = ended.status, finished_at = ended.finished_at
    from unnest(ids, statuses, ends, clients) as ended(id, status, finished_at, client_id)
   where d.after_id = any (array[ended.id]) and d.execution_id = any (waiting)
     and (ended.client_id is null
          or ended.client_id = (select e.client_id from pgsched.executions e where e.id = d.execution_id limit 1));
  decided := pgsched_internal.skip_dependents(waiting) || pgsched_internal.fire_dependents(waiting);
  delete from pgsched.dependencies d where d.execution_id = any (decided);
  delete from pgsched.dependencies d
   -- A scalar subquery, because an anti-join could read all executions
   where d.after_id = any (ids) and d.execution_id = any (dependents)
     and (select e.id from pgsched.executions e
           where e.id = d.execution_id and e.fire_at = 'infinity' and e.lease_token is null limit 1) is null;
  return cardinality(decided);
end $$;
comment on function pgsched_internal.note_ends(uuid[], pgsched.execution_status[], timestamptz[], text[], uuid[])
  is 'Records these ends for the given executions that wait for them. Returns how many executions were released or
skipped.';

create or replace function pgsched_internal.note_ends_with(
  ids uuid[], statuses pgsched.execution_status[], ends timestamptz[], clients text[], dependents uuid[]
) returns integer language plpgsql volatile as $$
declare
  decided integer := 0;
begin
  begin
    return pgsched_internal.note_ends(ids, statuses, ends, clients, dependents);
  exception when others then
    if not pgsched_internal.is_of_a_row(sqlstate) then
      raise;
    end if;
  end;
  -- A single dependent may cause the error, for example if two rows have the same id
  for n in 1..cardinality(dependents) loop
    begin
      decided := decided + pgsched_internal.note_ends(ids, statuses, ends, clients, dependents[n:n]);
    exception when others then
      if not pgsched_internal.is_of_a_row(sqlstate) then
        raise;
      elsif not pgsched_internal.is_a_lock(sqlstate) then  -- a later pass finds a locked row unchanged
        perform pgsched_internal.put_away(e.partition, e.id, sqlerrm) from pgsched.executions e where e.id = dependents[n] and e.fire_at = 'infinity';
        delete from pgsched.dependencies d where d.execution_id = dependents[n] and d.after_id = any (ids);
      end if;
    end;
  end loop;
  return decided;
end $$;
comment on function pgsched_internal.note_ends_with(uuid[], pgsched.execution_status[], timestamptz[], text[], uuid[])
  is 'Like note_ends, but if a dependent causes an error, holds that dependent with the reason and processes the
others.';

create or replace function pgsched_internal.release_dependents(
  most integer, after uuid default null, behind uuid default null, width integer default 500,
  out noted integer, out decided integer, out read_to uuid, out behind_to uuid
) language plpgsql volatile as $$
declare
  ids uuid[];
  statuses pgsched.execution_status[];
  ends timestamptz[];
  clients text[];
  places tid[];
  page record;
begin
  perform set_config('pgsched.notify', 'on', true);  -- off in workers' sessions, but any worker may claim these rows
  perform pgsched_internal.mark_ends(most);
  select array_agg(ended.id), array_agg(ended.status), array_agg(ended.finished_at), array_agg(ended.client_id), array_agg(ended.ctid)
    into ids, statuses, ends, clients, places
    from (select h.id, h.status, h.finished_at, h.client_id, h.ctid from pgsched.history h
           where h.awaited and h.id >= coalesce(after, '00000000-0000-0000-0000-000000000000')
             and (after is null or behind is not null or h.id <> after)
           order by h.id limit most for update skip locked) ended;
  noted := 0;
  decided := 0;
  if ids is null then
    return;
  end if;
  page := pgsched_internal.dependents_of(ids, case when ids[1] = after then behind end, width);
  if cardinality(page.dependents) >= width then
    read_to := ids[page.reached];
    behind_to := page.dependents[width];
  elsif cardinality(ids) >= most then
    read_to := ids[cardinality(ids)];
  end if;
  decided := pgsched_internal.note_ends_with(ids[:page.reached], statuses[:page.reached], ends[:page.reached], clients[:page.reached], page.dependents);
  -- By ctid, because a plan made on an empty day would scan the whole index for each end
  update pgsched.history h set awaited = false
    from unnest(ids[:page.reached], ends[:page.reached], clients[:page.reached], places[:page.reached]) as ended(id, finished_at, client_id, place)
   where h.ctid = ended.place and h.finished_at = ended.finished_at and h.id = any (array[ended.id])
     and not exists (select from pgsched.dependencies d
                      where d.after_id = ended.id and d.status is null
                        and ended.client_id = (select e.client_id from pgsched.executions e where e.id = d.execution_id limit 1));
  get diagnostics noted = row_count;
end $$;
comment on function pgsched_internal.release_dependents(integer, uuid, uuid, integer)
  is 'Releases or skips the dependents of executions that have ended. most limits the number of ends that are checked,
and width the number of their dependents. To continue, pass in the last end that was checked (after) and, if that end
may have further dependents, the last of them that was checked (behind). Returns how many ends were recorded for all of
their dependents, how many dependents were released or skipped, and where to continue if there may be more.';

-- Most of the executions are found by reading each partition at most once. The ids of jobs' rows do not contain the
-- partition, so these rows are searched for in every partition. Each search is rolled back, so that no partition stays
-- locked.
create or replace function pgsched_internal.not_found_at_once(ids uuid[]) returns uuid[] language plpgsql volatile as $$
declare
  left_over uuid[] := ids;
  home smallint;
begin
  for home in select p from pgsched.queues q, pgsched_internal.partitions_of(q.first_partition) p order by q.first_partition, p loop
    exit when left_over = '{}';
    begin
      execute format('select array(select i.id from unnest($1) with ordinality as i(id, n)'
                     ' where i.id <> all (array(select e.id from %s e.id = any ($2))) order by i.n)', pgsched_internal.in_partition(home))
         into left_over
        using left_over, array(select i.id from unnest(left_over) as i(id) where coalesce(pgsched_internal.partition_in(i.id), home) = home);
      raise sqlstate 'PSUND';
    exception when sqlstate 'PSUND' then null;
    end;
  end loop;
  return array(select i.id from unnest(left_over) with ordinality as i(id, n)
                where i.id <> all (array(select h.id from pgsched.history h where h.awaited and h.id = any (left_over)))
                  -- An execution still waits for this one
                  and exists (select from pgsched.dependencies d where d.after_id = i.id and d.status is null)
                order by i.n);
end $$;
comment on function pgsched_internal.not_found_at_once(uuid[])
  is 'Of these awaited executions, those that are neither live nor have an end in history that must still be recorded.';

-- An execution that was deleted by hand, or cancelled before its instant, leaves no end in history. One index probe
-- finds the next awaited execution, however many dependents each has. If an execution has more dependents than are
-- processed at a time, the next call continues with that execution.
create or replace function pgsched_internal.release_abandoned(most integer, after uuid, out decided integer, out read_to uuid)
  language plpgsql volatile as $$
declare
  awaited uuid[];
  page record;
  count integer;
begin
  perform set_config('pgsched.notify', 'on', true);
  with recursive next(id) as (
    (select d.after_id from pgsched.dependencies d where d.status is null and d.after_id > coalesce(after, '00000000-0000-0000-0000-000000000000')
      order by d.after_id limit 1)
    union all
    select (select d.after_id from pgsched.dependencies d where d.status is null and d.after_id > n.id order by d.after_id limit 1)
      from next n where n.id is not null
  )
  select array_agg(n.id) into awaited from (select next.id from next limit most) n where n.id is not null;
  if cardinality(awaited) = most then
    read_to := awaited[most];
  end if;
  decided := 0;
  awaited := pgsched_internal.not_found_at_once(awaited);
  for n in 1..coalesce(cardinality(awaited), 0) loop
    continue when pgsched_internal.partition_with(awaited[n]) is not null or (pgsched_internal.in_history(awaited[n])).id is not null;
    page := pgsched_internal.dependents_of(awaited[n:n], null, 500);
    count := pgsched_internal.note_ends_with(awaited[n:n], '{cancelled}', array[pgsched.now()], array[null::text], page.dependents);
    decided := decided + count;
    if cardinality(page.dependents) = 500 and count > 0 then
      read_to := coalesce(case when n > 1 then awaited[n - 1] end, after, '00000000-0000-0000-0000-000000000000');
      return;
    end if;
  end loop;
end $$;
comment on function pgsched_internal.release_abandoned(integer, uuid)
  is 'Releases or skips the dependents of executions that no longer exist, as if these had been cancelled. Checks up to
most awaited executions with ids after the given one. Returns how many dependents were released or skipped, and where to
continue if there may be more.';
