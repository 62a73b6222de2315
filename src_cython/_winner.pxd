# The class with the largest score, or with the most votes; ties go to the first class.


cdef inline Py_ssize_t winner(const double* scores, Py_ssize_t K) noexcept nogil:
    """The first class with the largest of K scores; for a single score, class 1 if it is above 0, else class 0."""
    cdef Py_ssize_t k, best = 0
    if K == 1:
        return scores[0] > 0
    for k in range(1, K):
        if scores[k] > scores[best]:
            best = k
    return best


cdef inline Py_ssize_t most_votes(const double* scores, Py_ssize_t K, double* votes) noexcept nogil:
    """The first class that wins the most pairs of classes, which are scored in the order (0, 1), (0, 2), and so on.

    The second class of a pair wins if the score is 0 or less.
    """
    cdef Py_ssize_t a, b, p = 0
    for a in range(K):
        votes[a] = 0
    for a in range(K):
        for b in range(a + 1, K):
            votes[a if scores[p] > 0 else b] += 1
            p += 1
    return winner(votes, K)
