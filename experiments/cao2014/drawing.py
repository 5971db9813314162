"""Figures: singular values of the mapped weights, and figures on training and test lists by epoch."""

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
        for k, row in enumerate(_by_epoch(part["epochs"], facts["settings"]["shares"])):
            ax.plot(range(1, len(row["train"]) + 1), row["train"], color=f"C{k}", linestyle="--")
            ax.plot(range(1, len(row["test"]) + 1), row["test"], color=f"C{k}", label=row["name"])
        ax.set_xlabel("epoch")
        ax.set_ylabel(f"{'F' if task == 'penn' else 'UAS'} on test lists, and (dashed) on training lists")
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


def _by_epoch(rows: list[Facts], shares: list[float]) -> list[Facts]:
    """Return the rows of the share in the middle: of the paper's sections 2 to 9, figure 7 takes 2 and 3."""
    return [row for row in rows if row["share"] == shares[(len(shares) - 1) // 2]]
