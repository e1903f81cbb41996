"""A real PostgreSQL server in a data directory of its own, for `pgsched up` without a database and for tests.

The data directory holds ``cluster`` (PostgreSQL's files), ``password``, ``port``, ``postgres.log``, ``lock``.

- Whoever holds ``lock`` (flock) is the one parent of the server, and writes the database's address into it. The kernel
  drops it with the process. A server whose parent is killed is stopped by its ``lifeline``; one found running while the
  lock is free lost both, and the next start stops it and starts its own.
- The server has its own session: Ctrl-C in a terminal reaches only the parent, which stops the server after
  it drained.
- A server that was killed leaves a ``postmaster.pid`` and sometimes backends; neither keeps the next one from starting.
  Nobody restarts it here: ``exit_status`` tells that it has ended, and ``restart`` begins anew on the same port.
- A cluster is initialised in ``new`` and renamed, so one that exists is always whole.
- It listens on 127.0.0.1 alone, with a generated password; no socket file depends on the length of a path.
- PostgreSQL refuses to run as root. For root the server runs as the account that owns the cluster (at first
  `postgres`, else `nobody`), reaches the cluster through an inherited directory descriptor, as the
  directories above it may be closed to that account, and runs binaries that it cannot reach from a copy.
  No directory of the user's is opened up for it.
"""

from pgsched.embedded.binaries import bundled_bin_dir
from pgsched.embedded.processes import running_url
from pgsched.embedded.server import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "bundled_bin_dir", "running_url"]
