-- migrate: remembers the settings that ours replace, for restore_settings, and lifts the bound on the whole transaction, which servers
-- before PostgreSQL 17 do not have. Looks nothing up by the path that it finds.
do $$ begin
  perform pg_catalog.set_config('pgsched.before', pg_catalog.jsonb_object_agg(
    s.name, pg_catalog.current_setting(s.name, true))::pg_catalog.text, true)
    from pg_catalog.unnest(array[{names}, 'transaction_timeout']::pg_catalog.text[]) as s(name);
  begin
    set local transaction_timeout = 0;
  exception when undefined_object then null;
  end;
end $$;
