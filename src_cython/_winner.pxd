# The class with the largest score, or with the most votes; ties go to the first class.


cdef inline Py_ssize_t winner(const double* scores, Py_ssize_t K) noexcept nogil:
    """a selection of rows, and the packed list of a column from which the sorted list of the selected rows is made"""
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
