# The statuses of `fastclf/capi.pxd` for the kernels: as `capi` imports the kernels, they cannot cimport it.
cdef enum:
    FASTCLF_OK = 0
    FASTCLF_BAD_SIZE = 2
    FASTCLF_BAD_VALUE = 3
