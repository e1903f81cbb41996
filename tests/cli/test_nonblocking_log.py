"""Logging never blocks, even if nobody reads the log."""

import logging
import os
from collections.abc import Iterator

import pytest

from pgsched.cli import nonblocking_log
from pgsched.cli.nonblocking_log import LogWriter


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reads, writes = os.pipe()
    yield reads, writes
    os.close(reads)
    os.close(writes)


def _logger(descriptor: int) -> tuple[logging.Logger, LogWriter]:
    writer = LogWriter(descriptor)
    logger = logging.Logger("x")
    logger.addHandler(writer)
    return logger, writer


def _read_lines(descriptor: int, until: str) -> list[str]:
    read = b""
    while until.encode() not in read or not read.endswith(b"\n"):
        read += os.read(descriptor, 65_536)
    return read.decode().splitlines()


def test_a_log_line_is_written_immediately(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    _logger(writes)[0].warning("é %s", "\udc80")
    assert os.read(reads, 100) == "é \\udc80\n".encode()


def test_lines_of_an_unread_log_are_buffered_without_blocking(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    logger, writer = _logger(writes)
    for number in range(3_000):
        logger.warning("%d %s", number, "x" * 200)
    logger.warning("the last")
    found = _read_lines(reads, "the last")
    assert [line.split()[0] for line in found] == [*map(str, range(3_000)), "the"]
    writer.flush()
    logger.warning("and more")
    assert os.read(reads, 100) == b"and more\n"


def test_log_lines_beyond_the_buffer_are_dropped_and_counted(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nonblocking_log, "_MOST_BEHIND", 10_000)
    reads, writes = pipe
    logger, _ = _logger(writes)
    for number in range(3_000):
        logger.warning("%d %s", number, "x" * 200)
    *found, last = _read_lines(reads, "were dropped")
    assert [line.split()[0] for line in found] == [*map(str, range(len(found)))]
    assert last == f"{3_000 - len(found)} lines were dropped here because the log was not being read"


def test_a_log_pipe_without_a_reader_does_not_block(pipe: tuple[int, int]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    _logger(writes)[0].warning("x" * 100_000)
    os.close(writes)
