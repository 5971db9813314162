"""Draws the pictures of docs/tables.md: Fisher's eye and hair colours."""

from pathlib import Path

import numpy as np

from polyadic import CorrespondenceAnalysis, plots

FISHER = np.array([[326, 38, 241, 110, 3], [688, 116, 584, 188, 4], [343, 84, 909, 412, 26], [98, 48, 403, 681, 85]])
EYES = [f"{color} eyes" for color in ("blue", "light", "medium", "dark")]
HAIR = [f"{color} hair" for color in ("fair", "red", "medium", "dark", "black")]
PLACE = Path(__file__).parent.parent / "docs" / "tables"

if __name__ == "__main__":
    model = CorrespondenceAnalysis(3).fit(FISHER)
    ax = plots.new_axes(width=7, height=3.6)
    plots.biplot(model, rows=EYES, columns=HAIR, ax=ax)
    ax.figure.savefig(PLACE / "fisher.png", dpi=110)
    plots.biplot(model, rows=EYES, columns=HAIR, kind="rows").figure.savefig(PLACE / "fisher-rows.png", dpi=90)
    plots.contributions(model, HAIR, side="columns").figure.savefig(PLACE / "fisher-contributions.png", dpi=90)
