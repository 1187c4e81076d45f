"""How long work takes, whatever else the machine does meanwhile."""

import time

import torch


class Clock:
    """Runs from when it is made.

    on_cpu: whether the work is; on another device the CPU mostly waits.
    """

    def __init__(self, on_cpu: bool) -> None:
        self.on_cpu = on_cpu
        self.began, self.used = time.perf_counter(), time.process_time()

    def seconds(self) -> float:
        """By the clock on the wall."""
        return time.perf_counter() - self.began

    def spent(self) -> float:
        """CPU time by thread; on another device, time by the clock until it is done."""
        if self.on_cpu:
            return (time.process_time() - self.used) / torch.get_num_threads()
        torch.accelerator.synchronize()
        return self.seconds()
