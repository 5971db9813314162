"""The comparison of Bailey and Aeron (2017) on any text: all their models, baselines and tests, one report."""
