"""A real PostgreSQL server in its own data directory, for `pgsched up` without a database and for tests.

The data directory holds ``cluster`` (PostgreSQL's files), ``password``, ``port``, ``postgres.log`` and ``lock``.

- The server's parent is the process that holds ``lock`` (flock). The kernel releases the lock when the parent ends. If
  the parent is killed, the ``lifeline`` stops the server. If both are killed, the server keeps running until the next
  start stops it.
- The server has its own session, so Ctrl-C in a terminal reaches only the parent, which drains and then stops the
  server.
- A killed server leaves a ``postmaster.pid`` and sometimes backends, neither of which prevents the next start. The
  server is not restarted automatically: ``exit_status`` shows that it has ended, and ``restart`` starts it on the same
  port.
- A cluster is initialised in ``new`` and then renamed, so an existing ``cluster`` is always complete.
- The server listens on 127.0.0.1 only, with a generated password. It has no socket file, because the file's path could
  be too long.
- PostgreSQL refuses to run as root. If this process is root, the server runs as the owner of the cluster (at first
  `postgres`, or else `nobody`). That account may have no access to the directories above the cluster, so the server
  inherits a directory descriptor. Binaries that the account cannot reach are copied. The permissions of the user's
  directories are not changed.
"""

from pgsched.embedded.binaries import bundled_bin_dir
from pgsched.embedded.data_directory_lock import running_url
from pgsched.embedded.server import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "bundled_bin_dir", "running_url"]
