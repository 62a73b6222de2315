# The statuses of `fastclf/capi.pxd` for the kernels, which cannot cimport that module: it imports them.
cdef enum:
    FASTCLF_OK = 0
    FASTCLF_BAD_SIZE = 2
    FASTCLF_BAD_VALUE = 3
