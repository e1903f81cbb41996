-- days: forgets keys under which nothing lives and nothing has ended lately; looks at no more than so many. Locks the rows of
-- those keys, and skips what somebody has locked. Indexes: keys_look_at; the primary keys of the partitions; history_id.
select pgsched_internal.tidy_keys(%(most)s)
