r"""Algorithms 3 and 4 as printed, with their errors, and with each error corrected.

The printed method fails for two reasons. Equation (19) and step 5 of algorithm 4 multiply the spectra of the filters,
which is the spectrum of :math:`H^\top H G^\top G`, not of :math:`(H^\top H) \circ (G^\top G)`. Step 12 divides a sum by
itself, so that each filter is constant; theorem A.1 has the number n in its denominator. Theorem A.1 takes the mean of
normalized columns; the least-squares solution is their leading singular vector.

References
----------
Huang, Anandkumar (2016), Unsupervised learning of word-sequence representations from scratch via convolutional tensor
decomposition, algorithms 2 to 4, theorem A.1, lemma A.3. arXiv:1606.03153
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from polyadic.sentences.filter_als import (
    Moments,
    compose,
    deconvolve,
    khatri_rao_gram,
    patches,
    shifts,
    solve,
    unshifted,
)
from polyadic.sentences.words import blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.embedding import Embedding
    from polyadic.sentences.words import Sentence

    Array = NDArray[np.float64]

SWEEPS = 30
"""Sweeps of algorithm 3."""
Projection = Literal["step 12", "theorem A.1", "singular vector"]


class Variant(NamedTuple):
    """How to compute Psi: as printed or corrected; and how to compute a filter from its columns."""

    psi: Literal["printed", "corrected"] = "printed"
    projection: Projection = "step 12"

    def __str__(self) -> str:
        return f"{self.psi} Psi, {self.projection}"


VARIANTS = (
    *(Variant("printed", projection) for projection in ("step 12", "theorem A.1", "singular vector")),
    *(Variant("corrected", projection) for projection in ("step 12", "theorem A.1", "singular vector")),
)


def printed_psi(g: Array, h: Array) -> Array:
    r"""Return the first column of each circulant block of :math:`U \Psi U^H`, with :math:`\Psi` of equation (19).

    Examples
    --------
    A filter of two values: Psi is the product of the squared spectra (9, 1) and (1, 1), its circulant has the first
    column ifft(9, 1) = (5, 4). The elementwise product of the two Gram matrices has the first column (5, 4) * (1, 0).

    >>> g, h = np.array([[2.0, 1.0]]), np.array([[1.0, 0.0]])
    >>> printed_psi(g, h).tolist(), khatri_rao_gram(g, h).tolist()
    ([[[5.0, 4.0]]], [[[5.0, 0.0]]])
    """
    v = np.fft.rfft(g) * np.fft.rfft(h)
    return np.fft.irfft(v.conj()[..., :, None, :] * v[..., None, :, :], n=g.shape[-1])


def one_mode(C: Array, g: Array, h: Array, variant: Variant) -> tuple[Array, Array]:
    """Return filters and weights of algorithm 4, of shape (K, L, n), for tensors (K, n, n, n)."""
    K, L, n = g.shape
    G, H = (shifts(f).reshape(K, L * n, n) for f in (g, h))
    product = np.einsum("kabp,kpb->kap", C @ np.swapaxes(H, 1, 2)[:, None], G)  # C_3 (H kr G)
    psi = printed_psi(g, h) if variant.psi == "printed" else khatri_rao_gram(g, h)
    M = solve(psi, product.reshape(K, n, L, n))
    columns = unshifted(np.moveaxis(M, 1, -1))  # (K, L, shifts, n)
    norms = np.linalg.norm(columns, axis=-1)
    if variant.projection == "singular vector":
        f = np.linalg.eigh(np.swapaxes(columns, -1, -2) @ columns)[1][..., -1]
        return f, np.einsum("klpn,kln->klp", columns, f)
    if variant.projection == "step 12":
        return np.ones_like(g), norms  # a sum divided by itself
    return (columns / np.maximum(norms, 1e-300)[..., None]).mean(axis=-2), norms


def decompose(C: Array, number: int, variant: Variant, *, sweeps: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Run algorithm 3 on tensors (K, n, n, n); return unit filters, and the share of each tensor that is not explained.

    Theorem A.1 leaves out that its means are to be scaled to norm one. If Psi has full rank, the norm changes only the
    weights.
    """
    factors = list(rng.standard_normal((3, len(C), number, C.shape[1])))
    factors = [f / np.linalg.norm(f, axis=-1, keepdims=True) for f in factors]
    for _ in range(1 if variant.projection == "step 12" else sweeps):  # constants stay as they are
        for mode in range(3):
            g, h = factors[(mode + 1) % 3], factors[(mode + 2) % 3]
            factors[mode], weights = one_mode(C, g, h, variant)
    f, g, h = factors
    left = ((C - compose([g, h, f], weights)) ** 2).sum(axis=(1, 2, 3)) / (C**2).sum(axis=(1, 2, 3))
    return f / np.maximum(np.linalg.norm(f, axis=-1, keepdims=True), 1e-300), left


def templates(texts: Sequence[Sentence], words: Embedding, filters: int, length: int, variant: Variant) -> Array:
    """Return the templates (K, L, n) of algorithm 1: one run of algorithm 3 on patches, which are not padded."""
    moments = Moments.empty(words.rank, length)
    for block in blocks(texts, words):
        moments.add(patches(words.vectors[block.rows].astype(float), length, block.edges))
    return decompose(moments.cumulant(), filters, variant, sweeps=SWEEPS, rng=np.random.default_rng(0))[0]


def embeddings(f: Array, words: Embedding, texts: Sequence[Sentence], pool: int) -> NDArray[np.float32]:
    """Return the largest activations (sentences, K, pool) of algorithm 2, by the pseudo-inverse of padded templates."""
    vectors = np.zeros((len(texts), len(f), pool), np.float32)
    for at, block in enumerate(blocks(texts, words, size=1)):
        y = words.vectors[block.rows].astype(float).T
        if len(block.rows):
            y = np.pad(y, ((0, 0), (0, max(0, f.shape[-1] - y.shape[1]))))  # templates are not longer than a sentence
            on = y.any(axis=1)  # without signal there are no activations
            kept = -np.sort(-deconvolve(f[on], y[on]).reshape(on.sum(), f.shape[1] * y.shape[1]), axis=1)[:, :pool]
            vectors[at, on, : kept.shape[1]] = kept
    return vectors
