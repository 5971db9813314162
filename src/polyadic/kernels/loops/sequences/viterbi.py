"""The likeliest sequence of states of a chain, sentence by sentence."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def viterbi_states(words, edges, scores, start, move, first, last, states):
    """Write into ``states`` the best path of each sentence from ``first`` to ``last``.

    Token ``i`` is ``words[i]``, and costs ``scores[words[i], s]`` in state ``s``, minus infinity where it cannot be
    in it; ``start[s]`` and ``move[s, t]`` are added for the first state and for each step. Of equals the first.
    """
    size = len(start)
    longest = 0
    for k in range(first, last):
        longest = max(longest, edges[k + 1] - edges[k])
    back = np.zeros((longest, size), np.int32)
    now, before = np.empty(size, np.float32), np.empty(size, np.float32)
    for k in range(first, last):
        low, high = edges[k], edges[k + 1]
        for i in range(low, high):
            score = scores[words[i]]
            for t in range(size):
                now[t] = -np.inf
                if score[t] == -np.inf:
                    continue
                if i == low:
                    now[t] = start[t] + score[t]
                    continue
                for s in range(size):
                    through = before[s] + move[s, t]
                    if through + score[t] > now[t]:
                        now[t] = through + score[t]
                        back[i - low, t] = s
            best = now.max()  # sums that grew with the sentence would lose their last digits
            if best > -np.inf:
                now -= best
            now, before = before, now
        if high > low:
            state = np.argmax(before)
            for i in range(high - 1, low - 1, -1):
                states[i] = state
                state = back[i - low, state]
