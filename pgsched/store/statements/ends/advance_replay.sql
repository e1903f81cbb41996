-- replay: the next chunk. Locks the replay, so that no other worker has it, then each dead letter that it deals with.
select replayed, more, finished from pgsched_internal.advance_replay(%(replay)s, %(most)s)
