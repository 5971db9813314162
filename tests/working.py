"""What workers are asked for in the tests: functions that other processes can import."""

import os
import time

import numpy as np

from polyadic.core.executor import Sum


def leaves(n, seed=0):
    """Numbers of very different sizes, whose sum hangs on the order."""
    rng = np.random.default_rng(seed)
    return [Sum(float(v), [v * rng.standard_normal(5).astype(np.float32), None]) for v in 10.0 ** rng.uniform(-9, 9, n)]


def scaled(part, given, threads):
    """Give numbers times a factor."""
    del threads
    return Sum(part.value * given, [None if a is None else a * np.float32(given) for a in part.arrays])


def slow_first(item):
    """Be slow at every third item, and unlucky at the thirteenth."""
    time.sleep(0.05 * (item % 3 == 0))
    if item == 13:
        raise ValueError("unlucky")
    return item * item


def times(factor, item):
    """Multiply."""
    return factor * item


def slowly_scaled(part, given, threads):
    """Give time to be killed."""
    time.sleep(0.1)
    return scaled(part, given, threads)


def sum_of(made, text):
    """Use what is shared."""
    time.sleep(0.05)
    return float(made.sum()) + len(text)


def slow_length(text):
    """Count letters, slowly."""
    time.sleep(0.05)
    return len(text)


def end(item):
    """Take the process along."""
    os._exit(item)
