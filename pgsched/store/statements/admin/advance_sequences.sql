-- migrate: sequences catch up with rows that came by logical replication, which leaves sequences behind.
select pgsched_internal.advance_sequences()
