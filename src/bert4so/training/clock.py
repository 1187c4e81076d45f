"""Measure time so that other work on the machine does not count."""

import time

import torch


class Clock:
    """Starts when it is created.

    on_cpu: whether the work runs on the CPU; otherwise the CPU mostly waits for a device.
    """

    def __init__(self, on_cpu: bool) -> None:
        self.on_cpu = on_cpu
        self.start, self.cpu_start = time.perf_counter(), time.process_time()

    def seconds(self) -> float:
        """Wall-clock time."""
        return time.perf_counter() - self.start

    def cpu_seconds(self) -> float:
        """CPU time divided by the number of threads; wall-clock time on another device."""
        if self.on_cpu:
            return (time.process_time() - self.cpu_start) / torch.get_num_threads()
        torch.accelerator.synchronize()
        return self.seconds()
