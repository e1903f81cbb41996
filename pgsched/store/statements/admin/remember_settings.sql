-- migrate: saves, for restore_settings, the settings that ours replace. Lifts the transaction timeout, which exists
-- since PostgreSQL 17. Does not depend on the caller's search_path.
do $$ begin
  perform pg_catalog.set_config('pgsched.before', pg_catalog.jsonb_object_agg(
    s.name, pg_catalog.current_setting(s.name, true))::pg_catalog.text, true)
    from pg_catalog.unnest(array[{names}, 'transaction_timeout']::pg_catalog.text[]) as s(name);
  begin
    set local transaction_timeout = 0;
  exception when undefined_object then null;
  end;
end $$;
