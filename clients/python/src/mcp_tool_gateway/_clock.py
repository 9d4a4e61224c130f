"""How long an attempt may still take."""

from __future__ import annotations

import time

# How long a connection may take, or be waited for, where an attempt as a whole may take as long as it likes.
WITHOUT_TIMEOUT = 60


class Clock:
    """What is left of an attempt. `None` has no end."""

    def __init__(self, seconds: float | None) -> None:
        self.restart(seconds)

    def restart(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        if self.end is None:
            return None
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def left_to_connect(self) -> float:
        left = self.left()
        return WITHOUT_TIMEOUT if left is None else left

    @property
    def seconds_to_connect(self) -> float:
        return WITHOUT_TIMEOUT if self.seconds is None else self.seconds
