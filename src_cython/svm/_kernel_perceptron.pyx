# The perceptron in dual form, for samples x whose kernel values with all support vectors x_s have been computed. The
# score of hyperplane k is f_k, its coefficients are a_ks, and a label is y:
#
#     f_k(x) = sum_s a_ks (K(x_s, x) + bias);   where y f_k(x) <= 0:  a_k of x += step y
#
# Hyperplanes, one for each class against the rest, learn side by side; y is +1 where the sample's class is the positive
# class of the hyperplane, else -1. Sums over support vectors are made in four interleaved parts in a fixed order, so
# that the number of threads changes no bit.
from libc.math cimport fabs

from _vector cimport require


cdef double score(const double* a, const double* values, Py_ssize_t n, double bias) noexcept nogil:
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    cdef Py_ssize_t s = 0
    while s + 4 <= n:
        s0 += a[s] * (values[s] + bias)
        s1 += a[s + 1] * (values[s + 1] + bias)
        s2 += a[s + 2] * (values[s + 2] + bias)
        s3 += a[s + 3] * (values[s + 3] + bias)
        s += 4
    while s < n:
        s0 += a[s] * (values[s] + bias)
        s += 1
    return (s0 + s1) + (s2 + s3)


# A block of samples: pointers to the arrays of a `kernel_epochs.SampleBlock`.
ctypedef struct samples_t:
    Py_ssize_t n
    const double* values       # (n, n_slots): the kernel values between each sample and the support vector in each slot
    # (n,): the slot of each sample: its column of `values` and, if it is a support vector, of the coefficients
    const Py_ssize_t* slot
    const int* code            # (n,): the index of each sample's class
    const double* step         # (n, K): the amount by which a mistake changes a sample's coefficient in each hyperplane
    unsigned char* wrong       # (n, K), written: whether a sample was on the wrong side of each hyperplane

# The hyperplanes: pointers to the arrays of a `kernel_epochs.Learner`, and its numbers. Kernels change t, n_support, a,
# lag, least and square.
ctypedef struct learner_t:
    Py_ssize_t K               # the number K of hyperplanes
    Py_ssize_t n_slots
    const int* positive        # (K,): the index of the class on the positive side of each hyperplane
    double bias
    double t                   # the number of samples learned before the current one
    Py_ssize_t budget          # the largest number of support vectors; 0: no limit
    Py_ssize_t n_support       # the number of support vectors, slots with a coefficient other than 0
    double* a                  # (K, n_slots): the coefficient of each support vector in each hyperplane
    # (K, n_slots): for each coefficient the sum of its changes, each multiplied by the number of samples learned before
    # it; the averages of the coefficients are computed from it
    double* lag
    # (K,): the smallest product of label and score over the epoch's samples, for each hyperplane
    double* least
    # (K,): the sum of (coefficient) * (score) over the epoch's samples; after an epoch without mistakes it is |w|^2
    double* square


cdef double size_of(const learner_t* p, Py_ssize_t slot) noexcept nogil:
    """The largest |coefficient| that the support vector in a slot has in any hyperplane."""
    cdef Py_ssize_t k
    cdef double most = 0
    for k in range(p.K):
        most = max(most, fabs(p.a[k * p.n_slots + slot]))
    return most


cdef void drop(const learner_t* p, Py_ssize_t kept) noexcept nogil:
    """Remove the support vector whose largest |coefficient| is smallest, the first of equal ones; slot `kept` stays."""
    cdef Py_ssize_t slot, k, best = -1
    cdef double size, least = 0
    for slot in range(p.n_slots):
        size = size_of(p, slot)
        if slot != kept and size > 0 and (best < 0 or size < least):
            best, least = slot, size
    if best >= 0:
        for k in range(p.K):
            p.a[k * p.n_slots + best] = 0


cdef bint learn_sample(const samples_t* s, learner_t* p, Py_ssize_t i) noexcept nogil:
    """Change each hyperplane for which sample i is a mistake; returns whether there is any."""
    cdef Py_ssize_t slot = s.slot[i], k, at
    cdef double f, y
    cdef bint changed = False
    for k in range(p.K):
        at = k * p.n_slots + slot
        f = score(p.a + k * p.n_slots, s.values + i * p.n_slots, p.n_slots, p.bias)
        y = 1 if s.code[i] == p.positive[k] else -1
        p.least[k] = min(p.least[k], y * f)
        p.square[k] += p.a[at] * f
        s.wrong[i * p.K + k] = not y * f > 0
        if s.wrong[i * p.K + k]:
            p.a[at] += y * s.step[i * p.K + k]
            p.lag[at] += p.t * y * s.step[i * p.K + k]
            changed = True
    return changed


cdef void learn_block(const samples_t* s, learner_t* p) noexcept nogil:
    """Learn the samples of a block in order; if there are too many support vectors for the budget, remove one."""
    cdef Py_ssize_t i
    cdef bint before
    for i in range(s.n):
        before = size_of(p, s.slot[i]) > 0
        if learn_sample(s, p, i):
            p.n_support += (size_of(p, s.slot[i]) > 0) - before
            if p.budget and p.n_support > p.budget:
                drop(p, s.slot[i])
                p.n_support -= 1
        p.t += 1


cdef samples_t as_samples(block, Py_ssize_t K):
    """A samples_t of pointers to the arrays of a `SampleBlock`, which must outlive it."""
    cdef samples_t s
    cdef const double[:, ::1] values = block.values
    cdef const Py_ssize_t[::1] slot = block.slot
    cdef const int[::1] code = block.codes
    cdef const double[:, ::1] step = block.steps
    cdef unsigned char[:, ::1] wrong = block.wrong
    s.n = values.shape[0]
    require(slot.shape[0] == s.n and code.shape[0] == s.n and step.shape[0] == s.n and step.shape[1] == K)
    require(wrong.shape[0] == s.n and wrong.shape[1] == K)
    s.values, s.slot, s.code = &values[0, 0], &slot[0], &code[0]
    s.step, s.wrong = &step[0, 0], &wrong[0, 0]
    return s


def learn(block, learner, Py_ssize_t n_support):
    """Learn the samples of a `SampleBlock`; n_support: the `Learner`'s number of support vectors before the call."""
    cdef learner_t p
    cdef double[:, ::1] a = learner.a
    cdef double[:, ::1] lag = learner.lag
    cdef const int[::1] positive = learner.positive
    cdef double[::1] least = learner.least
    cdef double[::1] square = learner.square
    cdef samples_t s = as_samples(block, a.shape[0])
    p.K, p.n_slots, p.n_support = a.shape[0], a.shape[1], n_support
    require(block.values.shape[1] == p.n_slots and lag.shape[0] == p.K and lag.shape[1] == p.n_slots)
    require(positive.shape[0] == p.K and least.shape[0] == p.K and square.shape[0] == p.K)
    p.positive, p.bias, p.budget, p.t = &positive[0], learner.bias, learner.budget, learner.t
    p.a, p.lag, p.least, p.square = &a[0, 0], &lag[0, 0], &least[0], &square[0]
    with nogil:
        learn_block(&s, &p)
