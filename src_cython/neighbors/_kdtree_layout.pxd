# How a balanced kd-tree lies in memory: the same at every SIMD level, so that a saved tree can be used at another.
#
# Rows are sorted into leaves of LEAF rows each; only the last leaf may have fewer. FAN leaves that lie side by side are
# the children of a node of level 1, FAN nodes of level 1 the children of a node of level 2, and so on up to one root.
# No pointers are needed: child c of node i of a level is number FAN i + c of the level below. A node holds the boxes of
# its children coordinate by coordinate (boxes[node][low or high][j][c]), and a leaf its rows (panels[leaf][j][r]): one
# pass of vectors screens all children, or all rows.

# Both are multiples of the number of lanes of the widest vector.
cdef enum:
    LEAF = 32
    FAN = 16
    FAN_BITS = 4
    MAX_HEIGHT = 16
