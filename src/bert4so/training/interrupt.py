"""Handle Ctrl-C as a request to stop after the current step; a second Ctrl-C stops immediately."""

import signal
import threading
from types import FrameType
from typing import Any, Self

from bert4so.common.progress import say


class Interrupt:
    """Inside the `with` block, the first Ctrl-C only sets `requested`."""

    def __init__(self) -> None:
        self.requested = False
        self.usual: Any = signal.SIG_DFL

    def __enter__(self) -> Self:
        # In Python, only the main thread can handle signals.
        if threading.current_thread() is threading.main_thread():
            self.usual = signal.signal(signal.SIGINT, self._request)
        return self

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self.usual)

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        signal.signal(signal.SIGINT, self.usual)
        say("stopping after this step (press Ctrl-C again to stop immediately)")
