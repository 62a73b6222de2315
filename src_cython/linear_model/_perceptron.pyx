# The perceptron (Rosenblatt 1958), one sample after another, as in textbooks:
#
#     f = w.x + b;   unless y f > 0:   w = w + (y eta c) x;   b = b + y eta c
#
# for each class against the rest (y is 1 if x is of the class, else -1), or for all classes jointly. In joint learning
# a mistake is a sample whose own class does not score above all others; its class takes the step, and the best of the
# other classes takes the opposite step.
#
# in:      samples of rows with their classes and costs c, the step length eta
# changed: w and b of the hyperplanes; the number of mistakes, the losses and the margins of the epoch so far
#
# w does not change between two mistakes, so that the processor can score the next rows speculatively: a correct row
# costs its read from memory, a mistake costs a mispredicted branch.
from cython cimport floating
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t

from _model cimport epoch_double_f, epoch_float_f
from linear_model._samples cimport (
    AHEAD,
    LEARNERS,
    add,
    add_and_dot_d,
    add_and_dot_f,
    dot,
    dot_dd,
    dot_df,
    dot_dense,
    dot_each,
    dot_sparse,
    find_row,
    hyperplanes_t,
    prefetch_row,
    rows_t,
)
from _status cimport FASTCLF_OK

# The state of an epoch, a pass of the perceptron over the samples, from an `Epoch` of `epochs.py`. It trains n
# learners, each of which learns and stops by itself: a learner is one hyperplane or, in joint learning of the classes,
# all of them.
ctypedef struct epoch_t:
    double intercept  # the share of a step that the intercept takes: 0 without intercept
    double eta
    # (m, d): the weights of m hyperplanes, to which steps are added; in batch learning, the sum of a batch's steps
    # instead
    double* to_w
    # (m,): the intercepts of m hyperplanes, to which steps are added; in batch learning, the sum of a batch's steps
    # instead
    double* to_b
    # (m, d): for m hyperplanes with averaged weights, the sum of t times the step over all steps so far, where t is the
    # number of the step's sample; else NULL. After T samples, the sum of the weight vectors w after each of them is T w
    # - lag_w.
    double* lag_w
    # (m,): for m hyperplanes with averaged intercepts, the sum of t times the step over all steps so far, where t is
    # the number of the step's sample; else NULL
    double* lag_b
    # (n,): for each of n learners the sum over its mistakes of -y f, where f is the score and y the label, 1 or -1; a
    # learner is one hyperplane or, in joint learning, all of them
    double* loss
    # (n,): for each of n learners (one hyperplane or, in joint learning, all of them) the least y f over its correct
    # samples, where f is the score and y the label
    double* margin
    # (n,): for each of n learners (one hyperplane or, in joint learning, all of them) the number of mistakes in the
    # epoch
    int64_t* mistakes
    # (n,): for each of n learners (one hyperplane or, in joint learning, all of them) the number of the first sample
    # after its last mistake, at which its current run without a mistake began
    int64_t* since
    # (n,): for each of n learners (one hyperplane or, in joint learning, all of them) the length of its longest run
    # without a mistake; NULL without the pocket algorithm, which tests the weights at the end of such a run
    int64_t* record
    double* square         # the largest squared norm |x|^2 of a row so far; NULL once an epoch has read all rows
    int64_t t              # the number of the next sample, counted from the start of the training
    # the number of mistakes in the log, which is kept for a voted perceptron only; 0 without a log
    int64_t n_logged
    # for each mistake in the log (kept for a voted perceptron only) the number t of its sample; NULL without a log
    int64_t* log_sample
    # the row number of each mistake in the log (the mistakes of the current range of samples, from which a voted
    # perceptron rebuilds its weight vectors); NULL without a log
    int64_t* log_row
    # for each mistake in the log (kept for a voted perceptron only) the length of the step that it caused; NULL without
    # a log
    double* log_step

# The state of the L1 and L2 penalties on the weights of n hyperplanes during an epoch of the perceptron, from the
# arrays of a `Shrinking` of `epochs.py`.
ctypedef struct shrinking_t:
    double alpha
    double l1_ratio
    # (n,): for each of n hyperplanes the factor by which its stored weights are multiplied to give w, so that the L2
    # penalty changes one number only
    double* scale
    # (n,): for each of n hyperplanes the squared L2 norm of its stored weights, from which the L2 penalty in the loss
    # is computed
    double* square
    # (n,): for each of n hyperplanes the L1 norm of its stored weights, from which the L1 penalty in the loss is
    # computed
    double* size
    # (n,): for each of n hyperplanes the distance that the L1 penalty should have moved each weight towards 0 so far; a
    # weight is moved only when a row has its column
    double* due
    # (n, d): for each weight the signed distance that the L1 penalty has moved it so far
    double* paid


cdef enum:
    # in blocks of n times this number of sparse rows, for n hyperplanes, the largest squared norm of a row is updated
    # first; then the hyperplanes learn from the rows of the block, which are still in a cache
    MEASURED = 64

# for Python, too
INTERLEAVED = LEARNERS

cdef double[2] SIGN = [-1, 1]  # the sign of a label is looked up, because a processor cannot predict a branch on labels


cdef inline bint ends_record(epoch_t* s, Py_ssize_t k, int64_t t) noexcept nogil:
    """Whether a mistake at sample t ends learner k's longest run of correct samples so far, which is then recorded."""
    if s.record == NULL or t - s.since[k] <= s.record[k]:
        return False
    s.record[k] = t - s.since[k]
    return True


cdef inline double note_mistake(
    const rows_t* r, epoch_t* s, Py_ssize_t k, double z, double weight, Py_ssize_t row
) noexcept nogil:
    """Record a mistake of learner k on the current sample; z is label times score. Returns the step's length."""
    cdef double step = s.eta * (weight if r.cost == NULL else weight * r.cost[row])
    s.loss[k] -= z
    s.mistakes[k] += 1
    s.since[k] = s.t + 1
    if s.log_sample != NULL:
        s.log_sample[s.n_logged] = s.t
        s.log_row[s.n_logged] = row
        s.log_step[s.n_logged] = step
        s.n_logged += 1
    return step


cdef inline void take_step(
    epoch_t* s, Py_ssize_t k, Py_ssize_t d, double step, const floating* x, const int* index, Py_ssize_t n
) noexcept nogil:
    """Add step times row x to hyperplane k and, for averaged weights, t times as much to lag_w, for sample number t."""
    add(s.to_w + k * d, step, x, index, n)
    s.to_b[k] += s.intercept * step
    if s.lag_w != NULL:
        add(s.lag_w + k * d, s.t * step, x, index, n)
        s.lag_b[k] += s.t * (s.intercept * step)


cdef inline void note_size(double* square, const floating* x, Py_ssize_t n) noexcept nogil:
    """Raise the largest squared norm so far, `square`, to that of row x if this is larger or NaN; NULL: do nothing."""
    cdef double size
    if square != NULL:
        size = dot_dense(x, x, n)
        if not size <= square[0] and square[0] == square[0]:
            square[0] = size


cdef Py_ssize_t learn(
    const rows_t* r, const hyperplanes_t* p, epoch_t* s, const floating* data, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Learn from samples start to stop, each hyperplane for its class against the rest.

    Returns `stop`, or a sample that is not learned yet, because its mistake ends a longest run of correct samples.
    """
    cdef Py_ssize_t sample, row, n, k
    cdef const int* index
    cdef const floating* x
    cdef bint positive
    cdef double z, step
    for sample in range(start, stop):
        x = find_row(r, data, sample, stop, &row, &index, &n)
        note_size(s.square, x, n)
        for k in range(p.n):
            positive = r.code[row] == p.positive[k]
            z = SIGN[positive] * (dot(p.w + k * r.d, x, index, n) + p.b[k])
            if z > 0:
                if z < s.margin[k]:
                    s.margin[k] = z
                continue
            if ends_record(s, k, s.t):
                return sample
            step = note_mistake(r, s, k, z, p.up[k] if positive else p.down[k], row)
            take_step(s, k, r.d, step if positive else -step, x, index, n)
        s.t += 1
    return stop


cdef void learn_dense(
    const rows_t* r, const hyperplanes_t* p, epoch_t* s, const floating* data, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Learn from dense rows with one hyperplane, in an epoch that records no averages, runs or mistakes.

    Runs are those of samples without a mistake, of which the pocket algorithm needs the longest.
    """
    cdef Py_ssize_t d = r.d, sample, later, after, row = start if r.order == NULL else r.order[start]
    cdef const floating* x = data + row * d
    cdef const floating* following
    cdef const int64_t* order = r.order
    cdef const int* code = r.code
    cdef double* w = p.w
    cdef double z, step, f = dot_dense(w, x, d), b = p.b[0], margin = s.margin[0], loss = s.loss[0]
    cdef double[2] weight = [-p.down[0], p.up[0]]
    cdef int target = p.positive[0]
    cdef int64_t mistakes = 0
    cdef bint positive
    for sample in range(start, stop):
        later = min(sample + 1, stop - 1)
        after = later if order == NULL else order[later]
        following = data + after * d
        prefetch_row(r, data, sample + AHEAD, stop)
        note_size(s.square, x, d)
        positive = code[row] == target
        z = SIGN[positive] * (f + b)
        if z > 0:
            margin = min(margin, z)
            if floating is float:
                f = dot_df(w, following, d)
            else:
                f = dot_dd(w, following, d)
        else:
            step = s.eta * (weight[positive] if r.cost == NULL else weight[positive] * r.cost[row])
            if floating is float:
                f = add_and_dot_f(w, step, x, following, d)
            else:
                f = add_and_dot_d(w, step, x, following, d)
            b += s.intercept * step
            loss -= z
            mistakes += 1
        x, row = following, after
    p.b[0] = b
    s.margin[0] = margin
    s.loss[0] = loss
    s.mistakes[0] += mistakes
    s.t += stop - start


cdef void learn_sparse(
    const rows_t* r, const hyperplanes_t* p, epoch_t* s, Py_ssize_t k, const floating* data, Py_ssize_t start,
    Py_ssize_t stop,
) noexcept nogil:
    """Learn from sparse rows with hyperplane k, in an epoch that records no averages, runs or mistakes.

    Runs are those of samples without a mistake, of which the pocket algorithm needs the longest.
    """
    # Arguments: more than 8, because `learn` passes on all of its arguments, and the number k of the hyperplane.
    cdef Py_ssize_t sample, row, n
    cdef const int* index
    cdef const floating* x
    cdef double* w = p.w + k * r.d
    cdef double z, step, b = p.b[k], margin = s.margin[k], loss = s.loss[k]
    cdef double[2] weight = [-p.down[k], p.up[k]]
    cdef int target = p.positive[k]
    cdef int64_t mistakes = 0
    cdef bint positive
    for sample in range(start, stop):
        x = find_row(r, data, sample, stop, &row, &index, &n)
        if r.ones:
            x = NULL
        positive = r.code[row] == target
        z = SIGN[positive] * (dot_sparse(w, x, index, n) + b)
        if z > 0:
            margin = min(margin, z)
            continue
        step = s.eta * (weight[positive] if r.cost == NULL else weight[positive] * r.cost[row])
        add(w, step, x, index, n)
        b += s.intercept * step
        loss -= z
        mistakes += 1
    p.b[k] = b
    s.margin[k] = margin
    s.loss[k] = loss
    s.mistakes[k] += mistakes


cdef void learn_interleaved(
    const rows_t* r, const hyperplanes_t* p, epoch_t* s, Py_ssize_t first, const floating* data, Py_ssize_t start,
    Py_ssize_t stop,
) noexcept nogil:
    """The same as `learn_sparse` for each of the LEARNERS hyperplanes from `first` on, or of the fewer that are left.

    Their weights are interleaved, so that an entry of a row reads one cache line for all of them.
    """
    # Arguments: more than 8, because `learn_each` passes on all of its arguments, and the number of the hyperplane.
    cdef Py_ssize_t sample, row, n, j, k, n_learners = min(p.n - first, <Py_ssize_t> LEARNERS)
    cdef const int* index
    cdef const floating* x
    cdef double* w = p.w + first * r.d
    cdef double z, step, weight
    cdef double[LEARNERS] f
    cdef bint positive
    for sample in range(start, stop):
        x = find_row(r, data, sample, stop, &row, &index, &n)
        if r.ones:
            x = NULL
        dot_each(w, x, index, n, f)
        for k in range(n_learners):
            positive = r.code[row] == p.positive[first + k]
            z = SIGN[positive] * (f[k] + p.b[first + k])
            if z > 0:
                s.margin[first + k] = min(s.margin[first + k], z)
                continue
            weight = p.up[first + k] if positive else -p.down[first + k]
            step = s.eta * (weight if r.cost == NULL else weight * r.cost[row])
            for j in range(n):
                w[<Py_ssize_t> LEARNERS * index[j] + k] += step if x == NULL else step * x[j]
            p.b[first + k] += s.intercept * step
            s.loss[first + k] -= z
            s.mistakes[first + k] += 1


cdef Py_ssize_t learn_each(
    const rows_t* r, const hyperplanes_t* p, epoch_t* s, const floating* data, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Learn each class against the rest; without averages, runs and log, a single hyperplane takes a faster loop.

    So do all hyperplanes on sparse rows, one after the other, so that the weights of one stay in a cache.
    """
    cdef Py_ssize_t sample, row, n, end, k
    cdef const int* index
    cdef const floating* x
    if s.to_w != p.w or s.lag_w != NULL or s.record != NULL or s.log_sample != NULL:
        return learn(r, p, s, data, start, stop)
    if p.n > 1 and r.indptr == NULL:
        return learn(r, p, s, data, start, stop)
    if r.indptr == NULL and start < stop:
        learn_dense(r, p, s, data, start, stop)
        return stop
    while start < stop:
        end = stop
        if s.square != NULL:
            end = min(start + MEASURED * p.n, stop)
            for sample in range(start, end):
                x = find_row(r, data, sample, stop, &row, &index, &n)
                note_size(s.square, x, n)
        k = 0
        while k < p.n:
            if p.interleaved:
                learn_interleaved(r, p, s, k, data, start, end)
                k += LEARNERS
            else:
                learn_sparse(r, p, s, k, data, start, end)
                k += 1
        s.t += end - start
        start = end
    return stop


cdef double best_rival(
    const rows_t* r, const hyperplanes_t* p, const floating* x, const int* index, Py_ssize_t n, Py_ssize_t target,
    Py_ssize_t* rival,
) noexcept nogil:
    """The score of class `target` minus the best score of the other classes.

    rival: out, the first class with that best score.
    """
    cdef Py_ssize_t k
    cdef double f, score = 0, best = 0
    rival[0] = -1
    for k in range(p.n):
        f = dot(p.w + k * r.d, x, index, n) + p.b[k]
        if k == target:
            score = f
        elif rival[0] < 0 or f > best:
            best = f
            rival[0] = k
    return score - best


cdef Py_ssize_t learn_jointly(
    const rows_t* r, const hyperplanes_t* p, epoch_t* s, const floating* data, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Learn from samples [start, stop) with the hyperplanes of all classes jointly; a mistake moves two of them."""
    cdef Py_ssize_t sample, row, n, target, rival
    cdef const int* index
    cdef const floating* x
    cdef double z, step
    for sample in range(start, stop):
        x = find_row(r, data, sample, stop, &row, &index, &n)
        note_size(s.square, x, n)
        target = r.code[row]
        z = best_rival(r, p, x, index, n, target, &rival)
        if z > 0:
            if z < s.margin[0]:
                s.margin[0] = z
        else:
            if ends_record(s, 0, s.t):
                return sample
            step = note_mistake(r, s, 0, z, p.up[target], row)
            take_step(s, target, r.d, step, x, index, n)
            take_step(s, rival, r.d, -step, x, index, n)
        s.t += 1
    return stop


cdef void judge(
    const rows_t* r, const hyperplanes_t* p, bint joint, const floating* data, Py_ssize_t start, Py_ssize_t stop,
    double* wrong, double* margin,
) noexcept nogil:
    """Add the weights of samples that learner k predicts wrongly to wrong[k], for each learner k.

    Also lower margin[k] to the least y f of these samples.
    """
    cdef Py_ssize_t sample, row, n, k, rival
    cdef const int* index
    cdef const floating* x
    cdef double z, cost, weight
    cdef bint positive, right
    for sample in range(start, stop):
        x = find_row(r, data, sample, stop, &row, &index, &n)
        cost = 1 if r.cost == NULL else r.cost[row]
        for k in range(1 if joint else p.n):
            if joint:
                # if the best scores are equal, the first of their classes is predicted
                z = best_rival(r, p, x, index, n, r.code[row], &rival)
                right = z > 0 or (z == 0 and r.code[row] < rival)
                weight = p.up[r.code[row]]
            else:
                positive = r.code[row] == p.positive[k]
                z = dot(p.w + k * r.d, x, index, n) + p.b[k]
                right = (z > 0) == positive
                z = SIGN[positive] * z
                weight = p.up[k] if positive else p.down[k]
            if not right:
                wrong[k] += weight * cost
            # the comparison is false if z, label times score, is NaN, so that the least margin becomes NaN
            if not z >= margin[k]:
                margin[k] = z


cdef inline void set_weight(shrinking_t* c, Py_ssize_t k, double* w, double value) noexcept nogil:
    """Set a stored weight of hyperplane k, and update the L2 and L1 norms of its stored weights."""
    cdef double before = w[0]
    w[0] = value
    c.square[k] += value * value - before * before
    c.size[k] += fabs(value) - fabs(before)


cdef inline void decay(shrinking_t* c, Py_ssize_t k, double* w, Py_ssize_t d, double eta) noexcept nogil:
    """Apply the L2 penalty of one sample: reduce the scale of w; a scale that comes near 0 is multiplied into w."""
    cdef Py_ssize_t j
    c.scale[k] *= max(0, 1 - (1 - c.l1_ratio) * eta * c.alpha)
    if c.scale[k] < 1e-9:
        for j in range(d):
            w[j] *= c.scale[k]
        c.square[k] *= c.scale[k] * c.scale[k]
        c.size[k] *= c.scale[k]
        c.scale[k] = 1


cdef inline void cut(
    shrinking_t* c, Py_ssize_t k, double* w, double* paid, const int* index, Py_ssize_t n
) noexcept nogil:
    """Apply the L1 penalty of one sample to the coordinates of its row: each moves towards 0, not beyond, by the cuts
    that are due and not yet applied (Tsuruoka, Tsujii, Ananiadou 2009)."""
    cdef Py_ssize_t j, at
    cdef double before, after
    for j in range(n):
        at = j if index == NULL else index[j]
        before = w[at]
        if before > 0:
            after = max(0, before - (c.due[k] + paid[at]) / c.scale[k])
        elif before < 0:
            after = min(0, before + (c.due[k] - paid[at]) / c.scale[k])
        else:
            continue
        set_weight(c, k, w + at, after)
        paid[at] += c.scale[k] * (after - before)


cdef void learn_shrinking(
    const rows_t* r, const hyperplanes_t* p, epoch_t* s, shrinking_t* c, const floating* data, Py_ssize_t start,
    Py_ssize_t stop,
) noexcept nogil:
    """Learn from samples start to stop with a penalty, each hyperplane for its class against the rest.

    The loss is summed over all samples, and includes the penalty before each sample.
    """
    cdef Py_ssize_t sample, row, n, j, k, at
    cdef const int* index
    cdef const floating* x
    cdef bint positive
    cdef double z, step
    cdef double* w
    for sample in range(start, stop):
        x = find_row(r, data, sample, stop, &row, &index, &n)
        for k in range(p.n):
            w = p.w + k * r.d
            positive = r.code[row] == p.positive[k]
            z = c.scale[k] * dot(w, x, index, n) + p.b[k]
            if not positive:
                z = -z
            s.loss[k] += c.alpha * (
                (1 - c.l1_ratio) * 0.5 * c.square[k] * c.scale[k] * c.scale[k] + c.l1_ratio * c.size[k] * c.scale[k]
            )
            decay(c, k, w, r.d, s.eta)
            if not z > 0:
                step = note_mistake(r, s, k, z, p.up[k] if positive else p.down[k], row)
                step = step if positive else -step
                p.b[k] += s.intercept * step
                for j in range(n):
                    at = j if index == NULL else index[j]
                    set_weight(c, k, w + at, w[at] + x[j] * (step / c.scale[k]))
            if c.l1_ratio > 0:
                c.due[k] += c.l1_ratio * s.eta * c.alpha
                cut(c, k, w, c.paid + k * r.d, index, n)
        s.t += 1


cdef double* doubles(array):
    """The address of the first number of an array, NULL for None. The caller keeps the array alive."""
    if array is None:
        return NULL
    cdef double[::1] flat = array.reshape(-1)
    return &flat[0]


cdef int64_t* integers(array):
    """The address of the first number of an int64 array, NULL for None."""
    if array is None:
        return NULL
    cdef int64_t[::1] flat = array
    return &flat[0]


cdef object fill_rows(rows_t* r, samples):
    """Set the fields of the struct r, the samples of an epoch, from a `Samples`, which must outlive r."""
    cdef const int64_t[::1] order = samples.order
    cdef const int64_t[::1] indptr = samples.indptr
    cdef const int[::1] index = samples.indices
    cdef const int[::1] code = samples.codes
    cdef const double[::1] cost = samples.cost
    r.d = samples.d
    r.n_rows = code.shape[0]
    r.order = NULL if order is None else &order[0]
    r.indptr = NULL if indptr is None else &indptr[0]
    r.index = NULL if index is None or not index.shape[0] else &index[0]
    r.ones = samples.ones
    r.code = &code[0]
    r.cost = NULL if cost is None else &cost[0]


cdef object fill_hyperplanes(hyperplanes_t* p, hyperplanes):
    """Set the fields of the struct p, weights and intercepts, from a `Hyperplanes`, which must outlive p."""
    cdef double[:, ::1] w = hyperplanes.w
    cdef const int[::1] positive = hyperplanes.positive
    p.n = positive.shape[0]
    p.interleaved = hyperplanes.interleaved
    p.w = &w[0, 0]
    p.b = doubles(hyperplanes.b)
    p.positive = &positive[0]
    p.up = doubles(hyperplanes.up)
    p.down = doubles(hyperplanes.down)


cdef object fill_epoch(epoch_t* s, epoch):
    """Set the fields of the struct s, the state of an epoch, from an `Epoch`; the log of mistakes is empty."""
    s.intercept = epoch.intercept
    s.eta = epoch.eta
    s.to_w = doubles(epoch.to_w)
    s.to_b = doubles(epoch.to_b)
    s.lag_w = doubles(epoch.lag_w)
    s.lag_b = doubles(epoch.lag_b)
    s.loss = doubles(epoch.loss)
    s.margin = doubles(epoch.margin)
    s.square = doubles(epoch.square)
    s.mistakes = integers(epoch.mistakes)
    s.since = integers(epoch.since)
    s.record = integers(epoch.record)
    s.log_sample = integers(epoch.log_sample)
    s.log_row = integers(epoch.log_row)
    s.log_step = doubles(epoch.log_step)
    s.t = epoch.t
    s.n_logged = 0


cdef object fill_shrinking(shrinking_t* c, shrinking):
    """Set the fields of the struct c, the state of the penalty, from a `Shrinking`, which must outlive c."""
    c.alpha = shrinking.alpha
    c.l1_ratio = shrinking.l1_ratio
    c.scale = doubles(shrinking.scale)
    c.square = doubles(shrinking.square)
    c.size = doubles(shrinking.size)
    c.due = doubles(shrinking.due)
    c.paid = doubles(shrinking.paid)


def learn_range(const floating[::1] data, samples, hyperplanes, epoch, Py_ssize_t start, Py_ssize_t stop):
    """Learn from samples start to stop.

    Returns `stop`, or a sample that is not learned yet, because its mistake ends a longest run. `samples`,
    `hyperplanes` and `epoch` are objects of the classes with these names in `epochs.py`.
    """
    cdef rows_t r
    cdef hyperplanes_t p
    cdef epoch_t s
    cdef const floating* x = &data[0] if data.shape[0] else NULL
    cdef bint joint = epoch.joint
    fill_rows(&r, samples)
    fill_hyperplanes(&p, hyperplanes)
    fill_epoch(&s, epoch)
    with nogil:
        stop = learn_jointly(&r, &p, &s, x, start, stop) if joint else learn_each(&r, &p, &s, x, start, stop)
    epoch.t = s.t
    epoch.n_logged = s.n_logged
    return stop


def learn_range_shrinking(
    const floating[::1] data, samples, hyperplanes, epoch, shrinking, Py_ssize_t start, Py_ssize_t stop
):
    """Learn from samples [start, stop), each class against the rest, with the L1 and L2 penalty of a `Shrinking`."""
    cdef rows_t r
    cdef hyperplanes_t p
    cdef epoch_t s
    cdef shrinking_t c
    cdef const floating* x = &data[0] if data.shape[0] else NULL
    fill_rows(&r, samples)
    fill_hyperplanes(&p, hyperplanes)
    fill_epoch(&s, epoch)
    fill_shrinking(&c, shrinking)
    with nogil:
        learn_shrinking(&r, &p, &s, &c, x, start, stop)
    epoch.t = s.t


def count_wrong(
    const floating[::1] data, samples, hyperplanes, bint joint, Py_ssize_t start, Py_ssize_t stop,
    double[::1] wrong_out, double[::1] margin_out,
):
    """Add the weights of each learner's mistakes to wrong_out; lower margin_out to its least label times score.

    A learner is a hyperplane or, in joint learning, all of them.
    """
    cdef rows_t r
    cdef hyperplanes_t p
    cdef const floating* x = &data[0] if data.shape[0] else NULL
    fill_rows(&r, samples)
    fill_hyperplanes(&p, hyperplanes)
    with nogil:
        judge(&r, &p, joint, x, start, stop, &wrong_out[0], &margin_out[0])


# Arguments: more than 8, because it has the signature of the C interface, the type `epoch_f` in `_model.pxd`.
cdef int take_epoch(
    const floating* X, Py_ssize_t n, Py_ssize_t d, const int* code, const int64_t* order, double eta, bint intercept,
    double* w, double* b, int64_t* mistakes
) noexcept nogil:
    """One epoch over n rows with codes 0 and 1, in the given order, or first to last if `order` is NULL.

    Changes w and b, and adds to the number of mistakes.
    """
    cdef rows_t r
    cdef hyperplanes_t p
    cdef epoch_t s
    cdef int positive = 1
    cdef double one = 1, loss = 0, margin = INFINITY
    cdef int64_t since = 0
    r.d, r.n_rows, r.order, r.indptr, r.index, r.ones, r.code, r.cost = d, n, order, NULL, NULL, False, code, NULL
    p.n, p.positive, p.w, p.interleaved, p.b, p.up, p.down = 1, &positive, w, False, b, &one, &one
    s.intercept, s.eta, s.to_w, s.to_b, s.lag_w, s.lag_b = intercept, eta, w, b, NULL, NULL
    s.loss, s.margin, s.mistakes, s.since = &loss, &margin, mistakes, &since
    s.record, s.square, s.log_sample, s.t, s.n_logged = NULL, NULL, NULL, 0, 0
    learn_each(&r, &p, &s, X, 0, n)
    return FASTCLF_OK


cdef epoch_float_f _epoch_floats = take_epoch[float]
cdef epoch_double_f _epoch_doubles = take_epoch[double]
ADDRESSES = {"epoch_f": <size_t> _epoch_floats, "epoch_d": <size_t> _epoch_doubles}
