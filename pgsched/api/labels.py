"""Labels as a filter in the query string."""

from typing import Annotated

from litestar.params import QueryParameter

from pgsched.api.problems import Fault, Unreadable

Labels = Annotated[
    list[str] | None,
    QueryParameter(
        name="label",
        description="NAME=TEXT, such as team=payments; repeated, those with all of them.",
        schema_extra={"items": {"type": "string", "pattern": "^[^=]+="}},
    ),
]


def labels_in(given: list[str] | None) -> dict[str, str] | None:
    """``NAME=TEXT``, each. Raises Unreadable."""
    found = dict[str, str]()
    for item in given or ():
        name, equals, text = item.partition("=")
        status, detail = 400, None
        if not (name and equals):
            detail = "write NAME=TEXT, such as label=team=payments"
        elif name in found:
            status, detail = 422, f"{name[:80]} is given twice, and what has labels has it once: give it once"
        if detail:
            raise Unreadable(f"label: {detail}", status=status, faults=[Fault(parameter="label", detail=detail)])
        found[name] = text
    return found or None
