# The shuffle of NumPy's RandomState, cut into ranges.
#
# RandomState.shuffle keeps Python's lock for its whole run, 0.2 s for 3M rows, in which no thread can obey Ctrl-C. This
# is the same loop with the same random numbers (Fisher, Yates; `random_interval` of numpy/random/src/legacy).
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef struct bitgen_t:  # of numpy/random/bitgen.h
    void* state
    uint64_t (*next_uint64)(void*) noexcept nogil
    uint32_t (*next_uint32)(void*) noexcept nogil
    double (*next_double)(void*) noexcept nogil
    uint64_t (*next_raw)(void*) noexcept nogil


cdef void shuffle_down(bitgen_t* bits, int64_t* x, uint64_t start, uint64_t stop) noexcept nogil:
    """For i = start, start - 1, ..., stop + 1 swap x[i] with one of x[0], ..., x[i]; numbers above i are refused."""
    cdef uint64_t i = start, j, mask = start
    cdef int shift = 1
    while shift < 64:
        mask |= mask >> shift
        shift *= 2
    while i > stop:
        while mask >> 1 >= i:  # the mask is the smallest 2^k - 1 that is at least i
            mask >>= 1
        while True:
            if i >> 32 == 0:
                j = bits.next_uint32(bits.state) & mask
            else:
                j = bits.next_uint64(bits.state) & mask
            if j <= i:
                break
        x[i], x[j] = x[j], x[i]
        i -= 1


def shuffle(generator, int64_t[::1] x, Py_ssize_t start, Py_ssize_t stop):
    """Take the steps of a shuffle of x for the entries start, start - 1, ..., stop + 1; 0 <= stop <= start < len(x).

    generator: the MT19937, or another bit generator, of a RandomState.
    """
    cdef bitgen_t* bits = <bitgen_t*> PyCapsule_GetPointer(generator.capsule, "BitGenerator")
    if not 0 <= stop <= start < x.shape[0]:
        raise ValueError("a shuffle is asked for entries that are not there")
    with generator.lock, nogil:
        shuffle_down(bits, &x[0], start, stop)
