"""Logs: one line a record, ids as fields, exceptions in one line."""

import asyncio
import io
import json
import logging
import sys
import threading
from collections.abc import Iterator

import pytest

from kamaji_events import logs


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    hooks = sys.excepthook, threading.excepthook
    yield
    root.handlers[:] = before
    root.setLevel(level)
    sys.excepthook, threading.excepthook = hooks
    logging.captureWarnings(capture=False)


def _fail() -> None:
    raise KeyError("lost\nthings")


def test_away_from_a_terminal_a_record_is_one_json_object() -> None:
    """Extras become fields beside time, level, logger and message."""
    out = io.StringIO()
    logs.configure(stream=out)

    logging.getLogger("a.b").warning("queue %s is full", "q1", extra={"id": "uid.1", "n": 3})

    record = json.loads(out.getvalue())
    assert record.pop("time").endswith("Z")
    assert record == {"level": "warning", "logger": "a.b", "message": "queue q1 is full", "id": "uid.1", "n": 3}


def test_on_a_terminal_a_record_is_a_coloured_line() -> None:
    """People read words, ids stand dimmed at the end, and a line stays one."""
    out = Terminal()
    logs.configure(stream=out)

    logging.getLogger("a.b").warning("queue\nfull", extra={"id": "uid.1"})

    line = out.getvalue()
    assert line.count("\n") == 1
    assert "\x1b[33mwarning\x1b[0m" in line
    assert "queue\\nfull" in line
    assert "id=uid.1" in line


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_exception_is_one_line_with_its_place(form: str) -> None:
    """No stack below level debug; a group of one is its only member."""
    out = io.StringIO()
    logs.configure(form=form, stream=out)  # type: ignore[arg-type]

    try:
        try:
            _fail()
        except KeyError as error:
            raise ExceptionGroup("group", [error]) from None
    except ExceptionGroup:
        logging.getLogger("x").exception("went wrong")

    assert out.getvalue().count("\n") == 1
    assert "KeyError: 'lost\\" in out.getvalue()
    assert " at test_logs.py:" in out.getvalue()
    assert "Traceback" not in out.getvalue()


def test_at_level_debug_the_stack_is_there() -> None:
    """Who debugs wants all of it."""
    out = io.StringIO()
    logs.configure("debug", "json", stream=out)

    try:
        _fail()
    except KeyError:
        logging.getLogger("x").exception("went wrong")

    assert "Traceback" in json.loads(out.getvalue())["stack"]


def test_what_nobody_catches_is_logged_in_one_line() -> None:
    """In the main thread, in another thread and in the event loop."""
    out = io.StringIO()
    logs.configure(form="text", stream=out)

    try:
        _fail()
    except KeyError as error:
        sys.excepthook(KeyError, error, error.__traceback__)
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    thread = threading.Thread(target=_fail)
    thread.start()
    thread.join()
    loop = asyncio.new_event_loop()
    logs.watch_loop(loop)
    loop.call_soon(_fail)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()

    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert all("KeyError" in line for line in lines)
