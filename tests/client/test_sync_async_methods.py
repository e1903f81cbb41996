"""Both clients have the same methods, each defined once."""

import inspect

from pgsched.client import AsyncClient, Client

NAMES = sorted(
    name
    for name, found in inspect.getmembers(Client, inspect.isfunction)
    if not name.startswith("_") and name != "close"
)


def test_there_are_methods_for_every_resource() -> None:
    assert {"schedule", "get_execution", "replay", "claim", "set_client", "create_queue", "sideline"} <= {*NAMES}


def test_both_clients_have_the_same_parameters_and_docstrings() -> None:
    for name in NAMES:
        sync, awaited = getattr(Client, name), getattr(AsyncClient, name)
        assert inspect.signature(sync).parameters == inspect.signature(awaited).parameters, name
        assert sync.__doc__ == awaited.__doc__, name
        assert sync.__doc__, name


def test_every_async_method_is_awaited_or_iterated() -> None:
    found = {name: getattr(AsyncClient, name) for name in NAMES}
    plain = [
        name for name, one in found.items() if not (inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one))
    ]
    assert plain == []


def test_signatures_show_the_response_type() -> None:
    assert inspect.signature(Client.get_job).return_annotation.__name__ == "JobDetail"


def test_every_paged_list_method_has_an_iterator() -> None:
    paged = {name for name in NAMES if "after" in inspect.signature(getattr(Client, name)).parameters} - {"events"}
    assert {name.replace("list_", "iter_") for name in paged} == {name for name in NAMES if name.startswith("iter_")}
