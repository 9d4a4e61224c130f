"""Names of annotations that are newer than Python 3.10, for programs that read annotations at run time. Type checkers take them from typing_extensions."""

from __future__ import annotations

import typing
from typing import Any, TypeAlias

__all__ = ["NotRequired", "TypeAlias"]


class _Optional:
    """`NotRequired[str]` as `str`."""

    def __class_getitem__(cls, item: Any) -> Any:
        return item


NotRequired = getattr(typing, "NotRequired", _Optional)
