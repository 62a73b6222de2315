# The dual of nu-SVC: the problem of `_dual.pxd` where the sum of b over each class is given.
#
#     min  1/2 b'Kb    subject to  sum of b over a class = share, over the other -share,  lower <= b <= upper
#
# A step changes two rows of one class. Only differences of f within a class matter, so f of each class may be off by a
# constant. It is centred: the smallest f of the rows that may rise and the largest f of the rows that may fall are at
# equal distances from 0. Then the extremes of f over all rows give the largest violation of a class, and rows are left
# out and chosen as for SVC.
#
# Let c be f = Kb of the free rows of a class. The margin is r = (c_positive - c_negative) / 2. Divided by r, b solves
# the problem of SVC with the bounds divided by r (Schoelkopf, Smola, Williamson, Bartlett 2000, New support vector
# algorithms), and is proved as a solution of that problem.
from cython cimport cdivision
from libc.math cimport INFINITY, fabs

from svm._dual cimport dual_t, ends_t, place_all
from svm._steps cimport (
    LEAST_CURVATURE, ends_of, entry, keep_largest, keep_least, lane_numbers, least_t, load, quotient_t, row_of,
    take_step,
)
from _vector cimport LANES_D, at_most_d, fmadd_d, larger, largest_d, lowest_bit, spread_d, vec, vec_d

cdef extern from *:
    """
    #define APART 1e300         /* added to f to exclude the rows of the other class; all |f| are smaller */
    #define LEAST_MARGIN 1e-6   /* the least margin, over (mean squared distance of rows * sum of alpha in a class) */
    """
    const double APART
    const double LEAST_MARGIN

# For the positive and the negative class, the smallest gradient of a row whose variable may rise and the largest
# gradient of a row whose variable may fall; infinite if the class has no such row.
ctypedef struct sides_t:
    ends_t positive
    ends_t negative

ctypedef struct lanes_t:
    least_t least
    vec_d most


cdef inline void keep_side(lanes_t* side, vec_d f, vec_d rise, vec_d fall, vec_d apart, vec_d at) noexcept nogil:
    keep_least(&side.least, f + rise + apart, at)
    side.most = larger(side.most, f + fall - apart)


cdef inline ends_t side_ends(const lanes_t* side) noexcept nogil:
    cdef ends_t ends = ends_of(&side.least, side.most)
    if ends.least > 0.5 * APART:
        ends.least = INFINITY
    if ends.most < -0.5 * APART:
        ends.most = -INFINITY
    return ends


cdef inline sides_t move_within(dual_t* d, const vec* Ki, const vec* Kj, double t) noexcept nogil:
    """Add a step of length t on rows Ki, Kj (none if Ki is NULL) to the gradient; returns its extremes by class."""
    cdef Py_ssize_t v
    cdef lanes_t positive, negative
    cdef sides_t sides
    cdef vec_d at = lane_numbers(), step = spread_d(t), most = spread_d(APART), x, y
    cdef vec_d* f = <vec_d*> d.f
    positive.least.value, positive.least.place, positive.most = spread_d(INFINITY), at, spread_d(-INFINITY)
    negative = positive
    for v in range(d.ld // LANES_D):
        x, y = f[v], (<vec_d*> d.y)[v]
        if Ki != NULL:
            x = fmadd_d(step, load(Ki, v * LANES_D) - load(Kj, v * LANES_D), x)
            f[v] = x
        keep_side(&positive, x, (<vec_d*> d.rise)[v], (<vec_d*> d.fall)[v], most * larger(-y, spread_d(0)), at)
        keep_side(&negative, x, (<vec_d*> d.rise)[v], (<vec_d*> d.fall)[v], most * larger(y, spread_d(0)), at)
        at = at + <double> LANES_D
    sides.positive, sides.negative = side_ends(&positive), side_ends(&negative)
    return sides


@cdivision(True)  # cdivision turns off the debug build's check for divisors of 0, which does not work for SIMD vectors
cdef inline Py_ssize_t choose_within(const dual_t* d, const vec* Ki, Py_ssize_t i) noexcept nogil:
    """The row of row i's class whose variable may fall and whose step with row i gains most; -1 if none gains."""
    cdef Py_ssize_t v
    cdef quotient_t best
    cdef vec_d fi = spread_d(d.f[i]), kii = spread_d(d.diagonal[i]), at = lane_numbers(), slope, bend, quotient
    cdef vec_d apart = spread_d(-APART * d.y[i])
    cdef double most
    best.above, best.below, best.place = spread_d(0), spread_d(1), at
    for v in range(d.ld // LANES_D):
        slope = (<vec_d*> d.f)[v] + (<vec_d*> d.fall)[v] - fi - larger(apart * (<vec_d*> d.y)[v], spread_d(0))
        bend = fmadd_d(spread_d(-2), load(Ki, v * LANES_D), kii + (<vec_d*> d.diagonal)[v])
        slope = larger(slope, spread_d(0))
        keep_largest(&best, slope * slope, larger(bend, spread_d(LEAST_CURVATURE)), at)
        at = at + <double> LANES_D
    quotient = best.above / best.below
    most = largest_d(quotient)
    if not most > 0:
        return -1
    return <Py_ssize_t> (<const double*> &best.place)[lowest_bit(at_most_d(spread_d(most), quotient))]


cdef inline double middle(ends_t ends) noexcept nogil:
    if ends.least < INFINITY and ends.most > -INFINITY:
        return 0.5 * (ends.least + ends.most)
    return ends.least if ends.least < INFINITY else ends.most if ends.most > -INFINITY else 0


cdef inline void centre_at(dual_t* d, sides_t sides) noexcept nogil:
    cdef Py_ssize_t i
    cdef double positive = middle(sides.positive), negative = middle(sides.negative)
    for i in range(d.n):
        d.f[i] -= positive if d.y[i] > 0 else negative


cdef inline void centre(dual_t* d) noexcept nogil:
    """Add a constant to the gradient in each class, so that its extreme values lie at equal distances from 0."""
    cdef Py_ssize_t i
    cdef ends_t* ends
    cdef sides_t sides
    sides.positive.least = sides.negative.least = INFINITY
    sides.positive.most = sides.negative.most = -INFINITY
    for i in range(d.n):
        ends = &sides.positive if d.y[i] > 0 else &sides.negative
        if d.rise[i] == 0:
            ends.least = min(ends.least, d.f[i])
        if d.fall[i] == 0:
            ends.most = max(ends.most, d.f[i])
    centre_at(d, sides)


cdef inline Py_ssize_t descend_within(
    dual_t* d, const vec* K, Py_ssize_t ld, double tol, Py_ssize_t most, double* gained
) noexcept nogil:
    """Take steps for nu-SVC, each in the class with the larger violation; then centre the gradient of each class."""
    cdef Py_ssize_t step = 0, i, j
    cdef sides_t sides = move_within(d, <const vec*> NULL, <const vec*> NULL, 0)
    cdef ends_t ends
    cdef double t
    while step < most:
        ends = sides.positive
        if sides.negative.most - sides.negative.least > ends.most - ends.least:
            ends = sides.negative
        if not ends.most - ends.least > tol:
            break
        i = ends.at
        j = choose_within(d, row_of(K, i, ld), i)
        if j < 0:
            break
        t = take_step(d, i, j, entry(row_of(K, i, ld), j), gained)
        if t == 0:
            break
        sides = move_within(d, row_of(K, i, ld), row_of(K, j, ld), t)
        step += 1
    centre_at(d, sides)
    return step


cdef inline double share_of(const dual_t* d, double nu) noexcept nogil:
    """The sum of |b| in each class: nu / 2 times the sum of all bounds, at most the sum of one class's bounds."""
    cdef Py_ssize_t i
    cdef double positive = 0, negative = 0
    for i in range(d.n):
        if d.y[i] > 0:
            positive += d.upper[i]
        else:
            negative -= d.lower[i]
    return min(0.5 * nu * (positive + negative), min(positive, negative))


cdef inline void fill_side(dual_t* d, double y, double share) noexcept nogil:
    """Clip the variables b of class y to their bounds, then change them row by row until |b| adds up to `share`."""
    cdef Py_ssize_t i
    cdef double sum = 0, most, least
    for i in range(d.n):
        if d.y[i] == y:
            d.coef[i] = min(max(d.coef[i], d.lower[i]), d.upper[i])
            sum += fabs(d.coef[i])
    for i in range(d.n):
        if d.y[i] == y and sum != share:
            most = d.upper[i] - d.lower[i]
            least = min(max(fabs(d.coef[i]) + share - sum, <double> 0), most)
            sum += least - fabs(d.coef[i])
            d.coef[i] = y * least


cdef inline void fill_within(dual_t* d, double share) noexcept nogil:
    fill_side(d, 1, share)
    fill_side(d, -1, share)


cdef inline Py_ssize_t row_of_class(const dual_t* d, double y) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(d.n):
        if d.y[i] == y:
            return i
    return 0


cdef inline double product(const dual_t* d, const vec* Ki) noexcept nogil:
    """The sum of Ki[j] b_j over all rows j, for a row Ki of the kernel matrix and the variables b."""
    cdef Py_ssize_t j
    cdef double sum = 0
    for j in range(d.n):
        sum += entry(Ki, j) * d.coef[j]
    return sum


cdef inline double score_at_margin(const dual_t* d, double y, double off) noexcept nogil:
    """The score of class y's rows on the margin: the middle of the gradient's extremes in the class, plus `off`."""
    cdef Py_ssize_t i
    cdef ends_t ends
    ends.least, ends.most = INFINITY, -INFINITY
    for i in range(d.n):
        if d.y[i] != y:
            continue
        if d.rise[i] == 0:
            ends.least = min(ends.least, d.f[i])
        if d.fall[i] == 0:
            ends.most = max(ends.most, d.f[i])
    return middle(ends) + off


cdef inline double margin_of(const dual_t* d, double off_positive, double off_negative) noexcept nogil:
    """The margin of a solution of nu-SVC: half the difference between the two classes' scores at the margin."""
    return 0.5 * (score_at_margin(d, 1, off_positive) - score_at_margin(d, -1, off_negative))


cdef inline double to_margin(dual_t* d, double off_positive, double off_negative, double r) noexcept nogil:
    """Make a solution of nu-SVC one of SVC: divide the coefficients b and their bounds by the margin r.

    The gradient becomes f = Kb - y. Returns the intercept in the new scale.
    """
    cdef Py_ssize_t i
    cdef double middle = 0.5 * (score_at_margin(d, 1, off_positive) + score_at_margin(d, -1, off_negative))
    for i in range(d.n):
        d.f[i] = (d.f[i] + (off_positive if d.y[i] > 0 else off_negative)) / r - d.y[i]
        d.coef[i] /= r
        d.lower[i] /= r
        d.upper[i] /= r
    d.within = False
    place_all(d)
    return -middle / r
