"""The comparison of Bailey and Aeron (2017) on any text: all their models and baselines, all their tests, one report.

What is trained, and with which settings, is the table in :mod:`polyadic.suites.bailey2017.models`.
"""

from polyadic.suites.bailey2017.models import COUNTS, MODELS, Model, Settings
from polyadic.suites.bailey2017.protocol import run
from polyadic.suites.bailey2017.scoring import chosen_tests

__all__ = ["COUNTS", "MODELS", "Model", "Settings", "chosen_tests", "run"]
