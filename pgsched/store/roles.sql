-- The roles of pgsched. Run once for each cluster, as a role with CREATEROLE.
do $$
declare
  name text;
begin
  foreach name in array array['pgsched_owner', 'pgsched_worker', 'pgsched_api', 'pgsched_client', 'pgsched_reader'] loop
    if to_regrole(name) is null then
      begin
        execute format('create role %I nologin', name);
      exception when duplicate_object or unique_violation then
        null;  -- another migration of this cluster has just created it
      end;
    end if;
  end loop;
end $$;
