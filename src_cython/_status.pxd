# The status codes of `fastclf/capi.pxd` for kernels, which cannot cimport that file, because `capi` imports the
# kernels.
cdef enum:
    FASTCLF_OK = 0
    FASTCLF_BAD_SIZE = 2
    FASTCLF_BAD_VALUE = 3
