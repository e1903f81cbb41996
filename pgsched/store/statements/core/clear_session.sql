-- call: clears everything that a function left in its session, so that the next function does not find it.
close all;
set session authorization default;
reset all;
deallocate all;
unlisten *;
select pg_catalog.pg_advisory_unlock_all();
discard sequences;
discard temp
