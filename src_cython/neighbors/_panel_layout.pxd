# The layout of a panel: rows side by side, coordinate by coordinate, so that panel[j][r] is coordinate j of row r, and
# one vector has the same coordinate of several rows.
from _vector cimport LANES_D, LANES_F

# The number of rows of a panel of floats (ROWS_F) or doubles (ROWS_D): the values of one coordinate fill two vectors.
cdef enum:
    ROWS_F = 2 * LANES_F
    ROWS_D = 2 * LANES_D

# The bytes of one coordinate of all rows of a panel: two of the widest SIMD vectors. Callers of the C
# interface provide the same scratch space at every SIMD level.
cdef enum:
    PANEL_BYTES = 128
