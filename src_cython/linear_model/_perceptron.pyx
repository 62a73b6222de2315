# The perceptron (Rosenblatt 1958), row after row as the texts write it:
#
#     f = w.x + b;   unless y f > 0:   w = w + (y eta c) x;   b = b + y eta c
#
# for one class against the rest, or jointly: there the best of the other classes takes the step back, unless y's own
# score is above it. Between two mistakes w does not change, so that the processor is free to score the next rows
# before it knows that this one is right: a row costs its read from memory, a mistake a misprediction.
from cython cimport floating
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t

from _model cimport epoch_double_f, epoch_float_f
from linear_model._row_turns cimport (
    AHEAD,
    add,
    add_and_dot_d,
    add_and_dot_f,
    ask_for,
    dot,
    dot_dd,
    dot_df,
    dot_dense,
    dot_sparse,
    find_row,
    planes_t,
    rows_t,
)
from _status cimport FASTCLF_OK

ctypedef struct lesson_t:
    bint intercept
    double eta
    double* to_w           # where steps go: w and b themselves, or gradients
    double* to_b
    double* lag_w          # sums of t times the step, or NULL: the sum of w after each of T turns is T w - lag
    double* lag_b
    double* loss           # sums of -y f over the mistakes
    double* margin         # the least y f, if there was no mistake
    int64_t* mistakes
    int64_t* since         # the turn after which w last changed
    int64_t* record        # the longest run without a mistake, where a longer one is to be told. Or NULL
    double* square         # the largest |x|^2, or NULL
    int64_t t              # the number of the first turn since training began
    int64_t n_logged
    int64_t* log_turn      # of each mistake, with its row and step. Or NULL
    int64_t* log_row
    double* log_step

ctypedef struct shrink_t:
    double alpha
    double l1_ratio
    double* scale
    double* square         # |w|^2 and |w|_1 of the stored weights
    double* size
    double* due            # the cut that each coordinate should have had, and what each had
    double* paid           # (n, d)


cdef enum:
    MEASURED = 64  # rows whose sizes are noted at a time: they are still in a cache when they are learned from

cdef double[2] SIGN = [-1, 1]  # in a table, as labels cannot be predicted


cdef inline bint ends_record(lesson_t* s, Py_ssize_t k, int64_t t) noexcept nogil:
    """Whether the mistake of turn t ends the longest run of right rows yet; told once."""
    if s.record == NULL or t - s.since[k] <= s.record[k]:
        return False
    s.record[k] = t - s.since[k]
    return True


cdef inline double note_mistake(
    const rows_t* r, lesson_t* s, Py_ssize_t k, double z, double weight, Py_ssize_t row, int64_t t
) noexcept nogil:
    """The size of the step that a mistake with y f = z takes."""
    cdef double step = s.eta * (weight if r.cost == NULL else weight * r.cost[row])
    s.loss[k] -= z
    s.mistakes[k] += 1
    s.since[k] = t + 1
    if s.log_turn != NULL:
        s.log_turn[s.n_logged] = t
        s.log_row[s.n_logged] = row
        s.log_step[s.n_logged] = step
        s.n_logged += 1
    return step


cdef inline void take_step(
    lesson_t* s, Py_ssize_t k, Py_ssize_t d, double step, int64_t t, const floating* x, const int* index, Py_ssize_t n
) noexcept nogil:
    add(s.to_w + k * d, step, x, index, n)
    if s.intercept:
        s.to_b[k] += step
    if s.lag_w != NULL:
        add(s.lag_w + k * d, t * step, x, index, n)
        if s.intercept:
            s.lag_b[k] += t * step


cdef inline void note_size(double* square, const floating* x, Py_ssize_t n) noexcept nogil:
    cdef double size
    if square != NULL:
        size = dot_dense(x, x, n)
        # once it is NaN, it stays so
        if not size <= square[0] and square[0] == square[0]:
            square[0] = size


cdef Py_ssize_t learn(
    const rows_t* r, const planes_t* p, lesson_t* s, const floating* data, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Take turns start to stop, each plane's class against the rest.

    The return is stop, or the turn of a mistake, not yet taken, that ends a record.
    """
    cdef Py_ssize_t turn, row, n, k
    cdef const int* index
    cdef const floating* x
    cdef bint positive
    cdef double z, step
    for turn in range(start, stop):
        x = find_row(r, data, turn, stop, &row, &index, &n)
        note_size(s.square, x, n)
        for k in range(p.n):
            positive = r.code[row] == p.positive[k]
            z = SIGN[positive] * (dot(p.w + k * r.d, x, index, n) + p.b[k])
            if z > 0:
                if z < s.margin[k]:
                    s.margin[k] = z
                continue
            if ends_record(s, k, s.t):
                return turn
            step = note_mistake(r, s, k, z, p.up[k] if positive else p.down[k], row, s.t)
            take_step(s, k, r.d, step if positive else -step, s.t, x, index, n)
        s.t += 1
    return stop


cdef void learn_dense(
    const rows_t* r, const planes_t* p, lesson_t* s, const floating* data, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """`learn` for one plane and dense rows, without lags, records and logs: what a right row needs is in registers."""
    cdef Py_ssize_t d = r.d, turn, later, after, row = start if r.order == NULL else r.order[start]
    cdef const floating* x = data + row * d
    cdef const floating* following
    cdef const int64_t* order = r.order
    cdef const int* code = r.code
    cdef double* w = p.w
    cdef double z, step, f = dot_dense(w, x, d), b = p.b[0], margin = s.margin[0], loss = s.loss[0]
    cdef double[2] weight = [-p.down[0], p.up[0]]
    cdef int own = p.positive[0]
    cdef int64_t mistakes = 0
    cdef bint positive
    for turn in range(start, stop):
        later = min(turn + 1, stop - 1)
        after = later if order == NULL else order[later]
        following = data + after * d
        ask_for(r, data, turn + AHEAD, stop)
        positive = code[row] == own
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
            if s.intercept:
                b += step
            loss -= z
            mistakes += 1
        x, row = following, after
    p.b[0] = b
    s.margin[0] = margin
    s.loss[0] = loss
    s.mistakes[0] += mistakes
    s.t += stop - start


cdef void learn_sparse(
    const rows_t* r, const planes_t* p, lesson_t* s, const floating* data, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """As `learn_dense`."""
    cdef Py_ssize_t turn, row, n
    cdef const int* index
    cdef const floating* x
    cdef double* w = p.w
    cdef double z, step, b = p.b[0], margin = s.margin[0], loss = s.loss[0]
    cdef double[2] weight = [-p.down[0], p.up[0]]
    cdef int own = p.positive[0]
    cdef int64_t mistakes = 0
    cdef bint positive
    for turn in range(start, stop):
        x = find_row(r, data, turn, stop, &row, &index, &n)
        if r.ones:
            x = NULL
        positive = r.code[row] == own
        z = SIGN[positive] * (dot_sparse(w, x, index, n) + b)
        if z > 0:
            margin = min(margin, z)
            continue
        step = s.eta * (weight[positive] if r.cost == NULL else weight[positive] * r.cost[row])
        add(w, step, x, index, n)
        if s.intercept:
            b += step
        loss -= z
        mistakes += 1
    p.b[0] = b
    s.margin[0] = margin
    s.loss[0] = loss
    s.mistakes[0] += mistakes
    s.t += stop - start


cdef Py_ssize_t learn_each(
    const rows_t* r, const planes_t* p, lesson_t* s, const floating* data, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """`learn`, or the same faster where it can be."""
    cdef Py_ssize_t turn, row, n, end
    cdef const int* index
    cdef const floating* x
    if p.n > 1 or s.to_w != p.w or s.lag_w != NULL or s.record != NULL or s.log_turn != NULL:
        return learn(r, p, s, data, start, stop)
    while start < stop:
        end = stop
        if s.square != NULL:
            end = min(start + MEASURED, stop)
            for turn in range(start, end):
                x = find_row(r, data, turn, stop, &row, &index, &n)
                note_size(s.square, x, n)
        if r.indptr == NULL:
            learn_dense(r, p, s, data, start, end)
        else:
            learn_sparse(r, p, s, data, start, end)
        start = end
    return stop


cdef double best_rival(
    const rows_t* r, const planes_t* p, const floating* x, const int* index, Py_ssize_t n, Py_ssize_t own,
    Py_ssize_t* rival,
) noexcept nogil:
    """The score of class `own` minus that of the best of the others, the first of equal ones."""
    cdef Py_ssize_t k
    cdef double f, own_score = 0, best = 0
    rival[0] = -1
    for k in range(p.n):
        f = dot(p.w + k * r.d, x, index, n) + p.b[k]
        if k == own:
            own_score = f
        elif rival[0] < 0 or f > best:
            best = f
            rival[0] = k
    return own_score - best


cdef Py_ssize_t learn_jointly(
    const rows_t* r, const planes_t* p, lesson_t* s, const floating* data, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Take turns start to stop as `learn` does, all classes at once: the sums of the lesson have one entry."""
    cdef Py_ssize_t turn, row, n, own, rival
    cdef const int* index
    cdef const floating* x
    cdef double z, step
    for turn in range(start, stop):
        x = find_row(r, data, turn, stop, &row, &index, &n)
        note_size(s.square, x, n)
        own = r.code[row]
        z = best_rival(r, p, x, index, n, own, &rival)
        if z > 0:
            if z < s.margin[0]:
                s.margin[0] = z
        else:
            if ends_record(s, 0, s.t):
                return turn
            step = note_mistake(r, s, 0, z, p.up[own], row, s.t)
            take_step(s, own, r.d, step, s.t, x, index, n)
            take_step(s, rival, r.d, -step, s.t, x, index, n)
        s.t += 1
    return stop


cdef void judge(
    const rows_t* r, const planes_t* p, bint joint, const floating* data, Py_ssize_t start, Py_ssize_t stop,
    double* wrong, double* margin,
) noexcept nogil:
    """Add up the weights of the rows that each plane, or all jointly, would predict wrongly; find the least y f."""
    cdef Py_ssize_t turn, row, n, k, rival
    cdef const int* index
    cdef const floating* x
    cdef double z, cost, weight
    cdef bint positive, right
    for turn in range(start, stop):
        x = find_row(r, data, turn, stop, &row, &index, &n)
        cost = 1 if r.cost == NULL else r.cost[row]
        for k in range(1 if joint else p.n):
            if joint:
                # of equal scores the first class is predicted
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
            # as not (... >= ...), so that NaN is seen
            if not z >= margin[k]:
                margin[k] = z


cdef void shrink(
    const rows_t* r, const planes_t* p, lesson_t* s, shrink_t* c, const floating* data, Py_ssize_t start,
    Py_ssize_t stop,
) noexcept nogil:
    """Take turns start to stop with a penalty: w decays at each by 1 - eta alpha (1 - l1_ratio), and where l1_ratio > 0
    its coordinates of the row are cut towards 0 by what they owe (Tsuruoka, Tsujii, Ananiadou 2009).

    w is `scale` times the stored weights; loss is that of all turns with the penalty as it was before each.
    """
    cdef Py_ssize_t turn, row, n, j, k, at
    cdef const int* index
    cdef const floating* x
    cdef bint positive
    cdef double z, step, before, after
    cdef double* w
    cdef double* owed
    for turn in range(start, stop):
        x = find_row(r, data, turn, stop, &row, &index, &n)
        for k in range(p.n):
            w = p.w + k * r.d
            positive = r.code[row] == p.positive[k]
            z = c.scale[k] * dot(w, x, index, n) + p.b[k]
            if not positive:
                z = -z
            s.loss[k] += c.alpha * (
                (1 - c.l1_ratio) * 0.5 * c.square[k] * c.scale[k] * c.scale[k] + c.l1_ratio * c.size[k] * c.scale[k]
            )
            c.scale[k] *= max(0, 1 - (1 - c.l1_ratio) * s.eta * c.alpha)
            if c.scale[k] < 1e-9:
                for j in range(r.d):
                    w[j] *= c.scale[k]
                c.square[k] *= c.scale[k] * c.scale[k]
                c.size[k] *= c.scale[k]
                c.scale[k] = 1
            if not z > 0:
                step = note_mistake(r, s, k, z, p.up[k] if positive else p.down[k], row, s.t)
                step = step if positive else -step
                if s.intercept:
                    p.b[k] += step
                for j in range(n):
                    at = j if index == NULL else index[j]
                    before = w[at]
                    after = before + x[j] * (step / c.scale[k])
                    w[at] = after
                    c.square[k] += after * after - before * before
                    c.size[k] += fabs(after) - fabs(before)
            if c.l1_ratio > 0:
                c.due[k] += c.l1_ratio * s.eta * c.alpha
                owed = c.paid + k * r.d
                for j in range(n):
                    at = j if index == NULL else index[j]
                    before = w[at]
                    if before > 0:
                        after = max(0, before - (c.due[k] + owed[at]) / c.scale[k])
                    elif before < 0:
                        after = min(0, before + (c.due[k] - owed[at]) / c.scale[k])
                    else:
                        continue
                    w[at] = after
                    owed[at] += c.scale[k] * (after - before)
                    c.square[k] += after * after - before * before
                    c.size[k] += fabs(after) - fabs(before)
        s.t += 1


cdef object fill_rows(rows_t* r, rows):
    cdef const int64_t[::1] order = rows.order
    cdef const int64_t[::1] indptr = rows.indptr
    cdef const int[::1] index = rows.indices
    cdef const int[::1] code = rows.codes
    cdef const double[::1] cost = rows.cost
    r.d = rows.d
    r.n_rows = code.shape[0]
    r.order = NULL if order is None else &order[0]
    r.indptr = NULL if indptr is None else &indptr[0]
    r.index = NULL if index is None or not index.shape[0] else &index[0]
    r.ones = rows.ones
    r.code = &code[0]
    r.cost = NULL if cost is None else &cost[0]


cdef double* pointer(array):
    """To the first of an array of doubles, which its owner keeps; NULL for None."""
    if array is None:
        return NULL
    cdef double[::1] flat = array.reshape(-1)
    return &flat[0]


cdef object fill_planes(planes_t* p, planes):
    cdef double[:, ::1] w = planes.w
    cdef double[::1] b = planes.b
    cdef const int[::1] positive = planes.positive
    p.n = w.shape[0]
    p.w = &w[0, 0]
    p.b = &b[0]
    p.positive = &positive[0]
    p.up = pointer(planes.up)
    p.down = pointer(planes.down)


cdef int64_t* pointer_l(array):
    if array is None:
        return NULL
    cdef int64_t[::1] flat = array
    return &flat[0]


cdef object fill_lesson(lesson_t* s, lesson):
    s.intercept = lesson.intercept
    s.eta = lesson.eta
    s.to_w = pointer(lesson.to_w)
    s.to_b = pointer(lesson.to_b)
    s.lag_w = pointer(lesson.lag_w)
    s.lag_b = pointer(lesson.lag_b)
    s.loss = pointer(lesson.loss)
    s.margin = pointer(lesson.margin)
    s.square = pointer(lesson.square)
    s.mistakes = pointer_l(lesson.mistakes)
    s.since = pointer_l(lesson.since)
    s.record = pointer_l(lesson.record)
    s.log_turn = pointer_l(lesson.log_turn)
    s.log_row = pointer_l(lesson.log_row)
    s.log_step = pointer(lesson.log_step)
    s.t = lesson.t
    s.n_logged = 0


def sweep(const floating[::1] data, rows, planes, lesson, Py_ssize_t start, Py_ssize_t stop):
    """Take turns start to stop, as `linear_model/perceptron.py` arranges them; the turn before which it ended."""
    cdef rows_t r
    cdef planes_t p
    cdef lesson_t s
    cdef const floating* x = &data[0] if data.shape[0] else NULL
    cdef bint joint = lesson.joint
    fill_rows(&r, rows)
    fill_planes(&p, planes)
    fill_lesson(&s, lesson)
    with nogil:
        stop = learn_jointly(&r, &p, &s, x, start, stop) if joint else learn_each(&r, &p, &s, x, start, stop)
    lesson.t = s.t
    lesson.n_logged = s.n_logged
    return stop


def sweep_shrinking(
    const floating[::1] data, rows, planes, lesson, penalty, Py_ssize_t start, Py_ssize_t stop
):
    """`sweep` with a penalty, each class against the rest."""
    cdef rows_t r
    cdef planes_t p
    cdef lesson_t s
    cdef shrink_t c
    cdef const floating* x = &data[0] if data.shape[0] else NULL
    fill_rows(&r, rows)
    fill_planes(&p, planes)
    fill_lesson(&s, lesson)
    c.alpha = penalty.alpha
    c.l1_ratio = penalty.l1_ratio
    c.scale = pointer(penalty.scale)
    c.square = pointer(penalty.square)
    c.size = pointer(penalty.size)
    c.due = pointer(penalty.due)
    c.paid = pointer(penalty.paid)
    with nogil:
        shrink(&r, &p, &s, &c, x, start, stop)
    lesson.t = s.t
    return stop


def count_wrong(
    const floating[::1] data, rows, planes, bint joint, Py_ssize_t start, Py_ssize_t stop, double[::1] wrong_out,
    double[::1] margin_out,
):
    """Add to `wrong_out` and lower `margin_out` by turns start to stop."""
    cdef rows_t r
    cdef planes_t p
    cdef const floating* x = &data[0] if data.shape[0] else NULL
    fill_rows(&r, rows)
    fill_planes(&p, planes)
    with nogil:
        judge(&r, &p, joint, x, start, stop, &wrong_out[0], &margin_out[0])


cdef int take_epoch(
    const floating* X, Py_ssize_t n, Py_ssize_t d, const int* code, const int64_t* order, double eta, bint intercept,
    double* w, double* b, int64_t* mistakes
) noexcept nogil:
    """A sweep over n rows of codes 0 and 1, in an order or, if that is NULL, as they lie; w, b and mistakes go on."""
    cdef rows_t r
    cdef planes_t p
    cdef lesson_t s
    cdef int positive = 1
    cdef double one = 1, loss = 0, margin = INFINITY
    cdef int64_t since = 0
    r.d, r.n_rows, r.order, r.indptr, r.index, r.ones, r.code, r.cost = d, n, order, NULL, NULL, False, code, NULL
    p.n, p.positive, p.w, p.b, p.up, p.down = 1, &positive, w, b, &one, &one
    s.intercept, s.eta, s.to_w, s.to_b, s.lag_w, s.lag_b = intercept, eta, w, b, NULL, NULL
    s.loss, s.margin, s.mistakes, s.since = &loss, &margin, mistakes, &since
    s.record, s.square, s.log_turn, s.t, s.n_logged = NULL, NULL, NULL, 0, 0
    learn_each(&r, &p, &s, X, 0, n)
    return FASTCLF_OK


cdef epoch_float_f _epoch_floats = take_epoch[float]
cdef epoch_double_f _epoch_doubles = take_epoch[double]
ADDRESSES = {"epoch_f": <size_t> _epoch_floats, "epoch_d": <size_t> _epoch_doubles}
