"""Slow, plainly right twins of fast code."""

import itertools

import numpy as np


def outlier_positions(vectors, cluster, outliers, *, order, unit):
    """Twin of ``lowrank.metrics.outliers``: by the definition, one subset at a time."""
    cases = outlier_compactness(vectors, cluster, outliers, order=order, unit=unit)
    # Equal sums may differ in their last digits. The outlier comes first: a stable sort counts a tie against it.
    return [sorted(range(len(case)), key=lambda row, c=case: round(c[row], 9)).index(0) for case in cases]


def outlier_margin(vectors, cluster, outliers, *, order, unit):
    """How near, relatively, an outlier's compactness comes to that of a cluster word."""
    cases = outlier_compactness(vectors, cluster, outliers, order=order, unit=unit)
    return min((abs(c - case[0]) / max(map(abs, case)) for case in cases for c in case[1:] if any(case)), default=1)


def outlier_compactness(vectors, cluster, outliers, *, order, unit):
    """For each outlier, how alike the others are without the outlier, without the first cluster word, and so on."""

    def vector(item):
        return np.mean([vectors[part] for part in item.split("_") if part in vectors], axis=0).astype(float)

    def similarity(rows):
        if order == 2:
            lengths = [np.linalg.norm(row) for row in rows]
            return rows[0] @ rows[1] / (lengths[0] * lengths[1]) if all(lengths) else 0.0
        centroid = np.mean(rows, axis=0)
        distance = np.mean([np.linalg.norm(row - centroid) for row in rows])
        return 1 / distance if distance > 0 else 1e5

    def known(items):
        rows = [vector(item) for item in items if any(part in vectors for part in item.split("_"))]
        return [row / (np.linalg.norm(row) or 1) for row in rows] if unit else rows

    cluster, outliers = known(cluster), known(outliers)
    if len(cluster) < order:
        return []
    cases = []
    for outlier in outliers:
        rows = [outlier, *cluster]
        rests = [rows[:left_out] + rows[left_out + 1 :] for left_out in range(len(rows))]
        cases.append([sum(similarity(subset) for subset in itertools.combinations(rest, order)) for rest in rests])
    return cases
