"""${message}."""

from pathlib import Path

from pgsched.store.admin.upgrade_steps import run

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}
# The revision of the oldest release whose processes work on this schema. A version that only adds things repeats the
# value of the previous version. A version that removes or renames something belongs in a release after the last one
# that uses it, and names the revision of the first release that does not.
serves_from = ""


def upgrade() -> None:
    run(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    raise NotImplementedError("pgsched migrates forward only")
