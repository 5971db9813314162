"""Figures: singular values of the mapped weights, and training and development costs by epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.cao2014.compared import over_folds
from polyadic.plots import curves, new_axes

if TYPE_CHECKING:
    from pathlib import Path

    from polyadic.core.stage_cache import Facts


def draw(facts: Facts, out: Path) -> None:
    """Draw into a folder."""
    for task in facts["settings"]["tasks"]:
        part = facts[task]
        ax = new_axes()
        for mapping, values in part["spectra"].items():
            ax.plot(range(1, len(values) + 1), values, marker="o", markersize=3, label=mapping)
        ax.set_xlabel("singular value of the perceptron's weights as a matrix")
        ax.set_ylabel("share of the root of the energy")
        ax.legend(frameon=False)
        ax.figure.savefig(out / f"{task}-spectra.png", dpi=150, bbox_inches="tight")
        ax = curves(_by_share(part["rows"], facts["settings"]), facts["settings"]["shares"], log=True)
        ax.set_xlabel("share of the training lists")
        ax.set_ylabel("F" if task == "penn" else "UAS")
        ax.figure.savefig(out / f"{task}-shares.png", dpi=150, bbox_inches="tight")
        ax = new_axes()
        for k, row in enumerate(_last(part["rows"])):
            ax.plot(range(1, len(row["training"]) + 1), row["training"], color=f"C{k}", linestyle="--")
            ax.plot(range(1, len(row["held_out"]) + 1), row["held_out"], color=f"C{k}", label=row["name"])
        ax.set_xlabel("epoch")
        ax.set_ylabel("mean cost: held out, and (dashed) in training")
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        ax.figure.savefig(out / f"{task}-epochs.png", dpi=150, bbox_inches="tight")


def _by_share(rows: list[Facts], settings: Facts) -> dict[str, list[list[float]]]:
    """Return mean, least and largest figure over seeds, by share: of linear methods, and of the largest matrix."""
    by_name: dict[str, list[list[float]]] = {}
    largest = f"T-MIRA {min(settings['orders'])} {max(settings['ranks'])} "
    names = [row["name"] for row in rows if "T-MIRA" not in row["name"] or row["name"].startswith(largest)]
    for name in dict.fromkeys(names):
        for share in settings["shares"]:
            values = over_folds([row for row in rows if row["name"] == name and row["share"] == share])
            by_name.setdefault(name, []).append([float(np.mean(values)), min(values), max(values)])
    return by_name


def _last(rows: list[Facts]) -> list[Facts]:
    """Return the fits of the first seed to the largest share: linear ones, and the first tensors that are guided."""
    share, seed = max(row["share"] for row in rows), min(row["seed"] for row in rows)
    here = [row for row in rows if (row["share"], row["seed"], row["fold"]) == (share, seed, 0)]
    return [row for row in here if "T-MIRA" not in row["name"] or row["name"].endswith("guided")][:5]
