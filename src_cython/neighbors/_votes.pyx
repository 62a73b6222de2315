# Votes of neighbours: the predicted label, the shares of the votes, and the mean target of a query.
#
# in:      for each query its neighbours in order, as distance[q, j] and row number index[q, j]; the weights of votes
# out:     for each query a class, a share for each class, or a mean of targets, written at out[rows[q]]
# order:   every sum runs over the neighbours in their order, in float64: sum = sum + term
#
# The vote of neighbour j, at distance d_j, is multiplied by the neighbour's multiplicity, which is 1 or given. The vote
# is 1, or d_0 / d_j, or given. d_0 / d_j stands for the weight 1 / d_j, which could overflow: it is the same weight
# times the distance d_0 of the nearest neighbour. It is 1 where d_j = d_0, and if d_0 is 0 it is 0 for all other
# neighbours. Votes are counted in an array of all classes, of which only the entries of the neighbours' classes are
# touched, so that a query takes O(k), whatever the number of classes.
#
# Leave-one-out finds the prediction for every k from one list of neighbours. From k to k + 1 the sums gain the
# neighbours that now count in full; the prediction for one k also adds the next neighbour in part. Only the class that
# gains a vote can become the best, so that a row takes O(k_max).
import numpy as np

ctypedef struct ballot_t:
    Py_ssize_t k
    const double* distance   # (n, k): the distances of each query's k neighbours, ascending
    const Py_ssize_t* index  # (n, k): the row numbers of each query's k neighbours
    # (n, k): the votes that the user's function computed from distances; NULL: there is no function
    const double* given
    # (n, k): the multiplicity of each neighbour, a factor of its vote; NULL: all multiplicities are 1
    const double* taken
    # whether a neighbour's vote is the nearest neighbour's distance divided by the neighbour's own distance; otherwise
    # the vote is 1. Read only if `given` is NULL.
    bint by_distance

ctypedef struct count_t:
    double* count            # (n_classes,): the sum of a query's votes for each class; zeros before each query
    # (n_classes,): the sum of the distances of a query's neighbours of each class; zeros before each query
    double* far
    bint nearer              # whether a tie of votes goes to the smaller sum of distances, not to the first class
    Py_ssize_t best          # the class with the most votes of the query so far; -1 before the first vote


cdef inline double vote(const ballot_t* b, Py_ssize_t q, Py_ssize_t j) noexcept nogil:
    """The vote of neighbour j of query q, before it is multiplied by the neighbour's multiplicity."""
    cdef Py_ssize_t i = q * b.k
    if b.given != NULL:
        return b.given[i + j]
    if not b.by_distance or b.distance[i + j] == b.distance[i]:
        return 1
    return b.distance[i] / b.distance[i + j]


cdef inline bint beats(const count_t* c, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """Whether class a has more votes than class b or, with equal votes, comes first by the rule for ties."""
    if c.count[a] != c.count[b]:
        return c.count[a] > c.count[b]
    if c.nearer and c.far[a] != c.far[b]:
        return c.far[a] < c.far[b]
    return a < b


cdef inline void add(count_t* c, Py_ssize_t code, double votes, double distance) noexcept nogil:
    c.count[code] += votes
    if c.nearer:
        c.far[code] += distance


cdef inline void clear(count_t* c, Py_ssize_t code) noexcept nogil:
    c.count[code] = 0
    if c.nearer:
        c.far[code] = 0


cdef inline double times(const ballot_t* b, Py_ssize_t q, Py_ssize_t j) noexcept nogil:
    return 1 if b.taken == NULL else b.taken[q * b.k + j]


cdef int fill(ballot_t* b, ballot) except -1:
    """Fill in a ballot_t from a Ballot of `fastclf/neighbors/voting.py`."""
    cdef const double[:, ::1] distance = ballot.distance
    cdef const Py_ssize_t[:, ::1] index = ballot.index
    cdef const double[:, ::1] given = ballot.given
    cdef const double[:, ::1] taken = ballot.taken
    b.k = distance.shape[1]
    b.distance = &distance[0, 0]
    b.index = &index[0, 0]
    b.given = b.taken = NULL
    if given is not None:
        b.given = &given[0, 0]
    if taken is not None:
        b.taken = &taken[0, 0]
    b.by_distance = ballot.by_distance
    return 0


cdef inline Py_ssize_t winner(
    const count_t* c, const Py_ssize_t* code, Py_ssize_t k, Py_ssize_t n_classes
) noexcept nogil:
    """The class with the most votes among the k codes.

    There are no branches, which could not be predicted: this takes 36 ns, with branches 90 ns.
    """
    cdef double most = 0
    cdef Py_ssize_t j, best = 0, last = 0
    cdef bint tied
    for j in range(k):
        most = max(most, c.count[code[j]])
    for j in range(k):
        tied = c.count[code[j]] == most
        best = max(best, (n_classes - code[j]) * tied)
        last = max(last, code[j] * tied)
    best = n_classes - best
    if c.nearer and best != last:
        for j in range(k):
            if beats(c, code[j], best):
                best = code[j]
    return best


def take(
    const double[::1] weight, const Py_ssize_t[:, ::1] index, Py_ssize_t k, double[:, ::1] taken_out,
    unsigned char[::1] reached_out,
):
    """The multiplicity of each neighbour of a query: the weight of its row, until the multiplicities add up to k.

    Neighbours are taken in order, the last one in part. reached_out says whether the weights of a query's neighbours
    add up to k or more.
    """
    cdef Py_ssize_t q, j
    # the sum of neighbours' weights, k less a margin for rounding, from which a query takes no further neighbour
    cdef double before, left, w, enough = k * (1 - 1e-12)
    with nogil:
        for q in range(index.shape[0]):
            before = 0
            for j in range(index.shape[1]):
                w = weight[index[q, j]]
                left = k - before if before < enough else 0
                taken_out[q, j] = min(left, w)
                before += w
            reached_out[q] = before >= enough


def elect(ballot, const Py_ssize_t[:] codes, Py_ssize_t n_classes, bint nearer, Py_ssize_t[::1] best_out):
    """The class with the most votes for each query; with `nearer`, ties go to the smaller sum of distances.

    Otherwise, and between equal sums of distances, ties go to the first class.
    """
    cdef const Py_ssize_t[::1] rows = ballot.rows
    cdef double[:, ::1] scratch = np.zeros((2, n_classes))
    cdef Py_ssize_t[::1] code = np.empty(ballot.index.shape[1], np.intp)
    cdef ballot_t b
    cdef count_t c
    cdef Py_ssize_t q, j, i
    cdef double part
    fill(&b, ballot)
    c.count = &scratch[0, 0]
    c.far = &scratch[1, 0]
    c.nearer = nearer
    with nogil:
        for q in range(rows.shape[0]):
            i = q * b.k
            for j in range(b.k):
                code[j] = codes[b.index[i + j]]
                part = times(&b, q, j)
                if part > 0:
                    add(&c, code[j], vote(&b, q, j) * part, b.distance[i + j] * part)
            best_out[rows[q]] = winner(&c, &code[0], b.k, n_classes)
            for j in range(b.k):
                clear(&c, code[j])


def share(ballot, const Py_ssize_t[:] codes, double[:, ::1] share_out):
    """Write share_out[rows[q], c]: the share of class c in the votes of all neighbours of query q."""
    cdef const Py_ssize_t[::1] rows = ballot.rows
    cdef ballot_t b
    cdef Py_ssize_t q, j, n_classes = share_out.shape[1]
    cdef double part, total
    cdef double* out
    fill(&b, ballot)
    with nogil:
        for q in range(rows.shape[0]):
            out = &share_out[rows[q], 0]
            total = 0
            for j in range(n_classes):
                out[j] = 0
            for j in range(b.k):
                part = vote(&b, q, j) * times(&b, q, j)
                out[codes[b.index[q * b.k + j]]] += part
                total += part
            for j in range(n_classes):
                out[j] /= total


def average(ballot, const double[:, ::1] y, double[:, ::1] mean_out):
    """Write mean_out[rows[q], o]: the mean of target o over the neighbours of query q, weighted by their votes."""
    cdef const Py_ssize_t[::1] rows = ballot.rows
    cdef ballot_t b
    cdef Py_ssize_t q, j, o, n_outputs = y.shape[1]
    cdef const double* target
    cdef double* out
    cdef double part, total, first
    fill(&b, ballot)
    with nogil:
        for q in range(rows.shape[0]):
            out = &mean_out[rows[q], 0]
            total = first = 0
            for o in range(n_outputs):
                out[o] = 0
            for j in range(b.k):
                part = vote(&b, q, j) * times(&b, q, j)
                target = &y[b.index[q * b.k + j], 0]
                total += part
                # the first target's sum stays in a register: if there is one target, this takes a third of the time
                first += part * target[0]
                for o in range(1, n_outputs):
                    out[o] += part * target[o]
            out[0] = first
            for o in range(n_outputs):
                out[o] /= total


cdef inline double weigh(const double* weight, Py_ssize_t row) noexcept nogil:
    return 1 if weight == NULL else weight[row]


cdef inline void gain(
    count_t* c, const Py_ssize_t[:] codes, const Py_ssize_t* index, Py_ssize_t j, double votes, double distance
) noexcept nogil:
    """Add neighbour j's votes to its class, and set c.best to the best class among neighbours 0..j."""
    cdef Py_ssize_t code = codes[index[j]], i
    cdef double before = c.count[code]
    add(c, code, votes, distance)
    if c.best < 0 or (c.best != code and beats(c, code, c.best)):
        c.best = code
    elif c.best == code and c.nearer and c.count[code] == before:
        # A neighbour beyond others at distance 0 has a vote of 0, but adds to its class's sum of distances, so that
        # another class with the same votes may now be the better one.
        for i in range(j):
            if beats(c, codes[index[i]], c.best):
                c.best = codes[index[i]]


def elect_each(
    ballot, const double[::1] weight, const Py_ssize_t[:] codes, Py_ssize_t n_classes, bint nearer,
    Py_ssize_t[:, ::1] best_out,
):
    """Write best_out[rows[q], k - 1]: the class that k neighbours elect; weight: a weight per fitted row, or None."""
    cdef const Py_ssize_t[::1] rows = ballot.rows
    cdef double[:, ::1] scratch = np.zeros((2, n_classes))
    cdef ballot_t b
    cdef count_t c
    cdef Py_ssize_t q, j, i, k, code, best
    cdef const double* w = NULL
    cdef const Py_ssize_t* index
    cdef const double* distance
    cdef double before, left, count, far
    fill(&b, ballot)
    if weight is not None:
        w = &weight[0]
    c.count = &scratch[0, 0]
    c.far = &scratch[1, 0]
    c.nearer = nearer
    with nogil:
        for q in range(rows.shape[0]):
            index = b.index + q * b.k
            distance = b.distance + q * b.k
            c.best = -1
            before = 0
            j = 0
            for k in range(1, best_out.shape[1] + 1):
                while j < b.k and before < k * (1 - 1e-12) and k - before >= weigh(w, index[j]):
                    left = weigh(w, index[j])
                    gain(&c, codes, index, j, vote(&b, q, j) * left, distance[j] * left)
                    before += left
                    j += 1
                best = c.best
                if j < b.k and before < k * (1 - 1e-12):
                    code = codes[index[j]]
                    count = c.count[code]
                    far = c.far[code]
                    left = k - before
                    gain(&c, codes, index, j, vote(&b, q, j) * left, distance[j] * left)
                    c.best, best = best, c.best
                    c.count[code] = count
                    c.far[code] = far
                best_out[rows[q], k - 1] = best
            for i in range(min(j + 1, b.k)):
                clear(&c, codes[index[i]])


def average_each(ballot, const double[::1] weight, const double[:, ::1] y, double[:, :, ::1] mean_out):
    """Write mean_out[rows[q], k - 1]: the mean targets of k neighbours; weight: a weight per fitted row, or None."""
    cdef const Py_ssize_t[::1] rows = ballot.rows
    cdef Py_ssize_t n_outputs = y.shape[1]
    cdef double[::1] sums = np.empty(n_outputs)
    cdef ballot_t b
    cdef Py_ssize_t q, j, k, o
    cdef const double* w = NULL
    cdef const Py_ssize_t* index
    cdef double before, left, part, total, mean
    fill(&b, ballot)
    if weight is not None:
        w = &weight[0]
    with nogil:
        for q in range(rows.shape[0]):
            index = b.index + q * b.k
            before = total = 0
            j = 0
            for o in range(n_outputs):
                sums[o] = 0
            for k in range(1, mean_out.shape[1] + 1):
                while j < b.k and before < k * (1 - 1e-12) and k - before >= weigh(w, index[j]):
                    left = weigh(w, index[j])
                    part = vote(&b, q, j) * left
                    total += part
                    for o in range(n_outputs):
                        sums[o] += part * y[index[j], o]
                    before += left
                    j += 1
                part = 0
                if j < b.k and before < k * (1 - 1e-12):
                    part = vote(&b, q, j) * (k - before)
                for o in range(n_outputs):
                    mean = sums[o]
                    if part > 0:
                        mean += part * y[index[j], o]
                    mean_out[rows[q], k - 1, o] = mean / (total + part)


def add_rows(const double[:, ::1] errors, const double[::1] weight, double[::1] total):
    """Add sum_i weight[i] errors[i, k] to total[k], row after row, so that the size of a block changes no bit."""
    cdef Py_ssize_t i, k
    with nogil:
        for i in range(errors.shape[0]):
            for k in range(errors.shape[1]):
                total[k] += errors[i, k] if weight is None else weight[i] * errors[i, k]
