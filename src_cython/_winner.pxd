# The class that scores choose, the first of equal ones.


cdef inline Py_ssize_t winner(const double* scores, Py_ssize_t K) noexcept nogil:
    """The first class of the largest score; of one score, whether it is positive."""
    cdef Py_ssize_t k, best = 0
    if K == 1:
        return scores[0] > 0
    for k in range(1, K):
        if scores[k] > scores[best]:
            best = k
    return best


cdef inline Py_ssize_t most_votes(const double* scores, Py_ssize_t K, double* votes) noexcept nogil:
    """The first of the classes that win the most pairs, (0, 1), (0, 2), and so on; a score of 0 is the second's."""
    cdef Py_ssize_t a, b, p = 0
    for a in range(K):
        votes[a] = 0
    for a in range(K):
        for b in range(a + 1, K):
            votes[a if scores[p] > 0 else b] += 1
            p += 1
    return winner(votes, K)
