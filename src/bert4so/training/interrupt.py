"""Ctrl-C as a request to stop at the next good moment; twice, and it is at once."""

import signal
import threading
from types import FrameType
from typing import Any, Self

from bert4so.common.progress import say


class Interrupt:
    """While it is entered, the first Ctrl-C only sets `asked`."""

    def __init__(self) -> None:
        self.asked = False
        self.usual: Any = signal.SIG_DFL

    def __enter__(self) -> Self:
        # Python lets only the main thread handle signals.
        if threading.current_thread() is threading.main_thread():
            self.usual = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self.usual)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self.usual)
        say("stopping after this step (Ctrl-C again: at once)")
