"""A real PostgreSQL server in its own data directory, for `pgsched up` without a database and for tests.

The data directory holds ``cluster`` (PostgreSQL's files), ``password``, ``port``, ``postgres.log``, ``lock``.

- The process that holds ``lock`` (flock) is the only parent of the server, and writes the database's address into it.
  The kernel releases the lock when the process ends. A server whose parent is killed is stopped by its ``lifeline``;
  a server that runs while the lock is free has lost both, and the next start stops it before starting its own.
- The server has its own session: Ctrl-C in a terminal reaches only the parent, which stops the server after it has
  drained.
- A killed server leaves a ``postmaster.pid`` and sometimes backends; neither prevents the next start. The server is
  not restarted automatically: ``exit_status`` shows that it has ended, and ``restart`` starts it on the same port.
- A cluster is initialised in ``new`` and then renamed, so an existing one is always complete.
- It listens on 127.0.0.1 only, with a generated password, so no socket file depends on the length of a path.
- PostgreSQL refuses to run as root. For root the server runs as the account that owns the cluster (at first
  `postgres`, or else `nobody`). It reaches the cluster through an inherited directory descriptor, as the directories
  above it may be closed to that account, and runs binaries that it cannot reach from a copy. None of the user's
  directories is opened up for it.
"""

from pgsched.embedded.binaries import bundled_bin_dir
from pgsched.embedded.data_directory_lock import running_url
from pgsched.embedded.server import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "bundled_bin_dir", "running_url"]
