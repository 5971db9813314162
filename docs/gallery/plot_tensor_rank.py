"""
Select the rank of a CP model
=============================

The example tensor is the sum of noise and four outer products of three vectors. CP models of
increasing rank are fitted by alternating least squares from eight random starts each. The first
four components improve the fit considerably; additional components fit noise. Some starts converge
to a worse local optimum, so several starts are recommended.
"""

import numpy as np

from polyadic import AsymmetricCP, Entries, plots

rng = np.random.default_rng(0)
planted = [rng.standard_normal((size, 4)) for size in (30, 20, 10)]
x = np.einsum("ir,jr,kr->ijk", *planted)
x += 0.3 * x.std() * rng.standard_normal(x.shape)
entries = Entries(np.indices(x.shape).reshape(3, -1).T, x.ravel(), x.shape)

ax, best = plots.new_axes(width=6, height=4), {}
for rank in range(1, 9):
    models = [AsymmetricCP(rank, max_iter=500, seed=seed).fit(entries) for seed in range(8)]
    fits = [1 - (model.history_[-1] / model.history_[0]) ** 0.5 for model in models]
    ax.plot([rank] * 8, fits, "o", color="C0", fillstyle="none")
    best[rank] = models[np.argmax(fits)]
ax.set(xlabel="rank", ylabel="1 - |X - M| / |X|")

# %%
# The CP components are unique. Cosine similarities of true and estimated vectors in each mode:

for vectors, found in zip(planted, best[4].factors_, strict=True):
    print(abs((vectors / np.linalg.norm(vectors, axis=0)).T @ found).max(axis=1).round(3))
