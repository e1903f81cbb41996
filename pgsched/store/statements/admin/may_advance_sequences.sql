-- migrate: checks whether this role may advance the sequences.
select has_function_privilege('pgsched_internal.advance_sequences()', 'execute')
