"""Loop that finds the largest numbers of each row."""

from numba import njit


@njit(cache=True, nogil=True)
def best_of_rows(scores, places, values):
    """Put the largest of each row, in falling order, into ``values`` and where they stand into ``places``.

    Of equals the first come first. What is not above the least of those held is passed over, which is nearly all.
    """
    n = places.shape[1]
    for i in range(len(scores)):
        held = 0
        least = values[i, n - 1]
        for j in range(scores.shape[1]):
            score = scores[i, j]
            if held == n and not score > least:
                continue
            k = min(held, n - 1)
            while k > 0 and score > values[i, k - 1]:
                values[i, k], places[i, k] = values[i, k - 1], places[i, k - 1]
                k -= 1
            values[i, k], places[i, k] = score, j
            held = min(held + 1, n)
            least = values[i, n - 1]
