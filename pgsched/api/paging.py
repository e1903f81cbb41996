"""Pages and their cursors: an id, in the text that a page gives as next and a request as after."""

import base64
import binascii
from typing import TypeVar
from uuid import UUID

from pgsched.api.problems import Fault, Unreadable
from pgsched.responses import Page
from pgsched.store.lookup import rows

_Item = TypeVar("_Item")


def cursor(next: UUID | None) -> str | None:
    """The cursor that a page gives as next, and a request as after."""
    return None if next is None else base64.urlsafe_b64encode(next.bytes).decode().rstrip("=")


def position(cursor: str | None) -> UUID | None:
    """The id that a cursor stands for. Raises Unreadable for one that did not come from a page."""
    if cursor is None:
        return None
    try:
        return UUID(bytes=base64.b64decode(cursor + "==", altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        detail = "not a cursor: copy it from next of the page before"
        raise Unreadable(f"after: {detail}", faults=[Fault(parameter="after", detail=detail)]) from None


def page(found: rows.RowPage[_Item]) -> Page[_Item]:
    """A page of rows as the API answers with it."""
    return Page(items=found.items, next=cursor(found.next))
