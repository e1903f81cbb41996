-- call: nothing that a function left in its session meets the next one.
close all;
set session authorization default;
reset all;
deallocate all;
unlisten *;
select pg_catalog.pg_advisory_unlock_all();
discard sequences;
discard temp
