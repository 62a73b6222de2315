# The layout of a balanced kd-tree in memory is the same at every SIMD level, so that a saved tree fits all levels.
#
# Rows are sorted into leaves of LEAF rows each; only the last leaf may have fewer. FAN leaves that lie side by side are
# the children of a node of level 1, FAN nodes of level 1 the children of a node of level 2, and so on up to one root.
# No pointers are needed: child c of node i of a level is number FAN i + c of the level below. A node holds the boxes of
# its children coordinate by coordinate (boxes[node][low or high][j][c]), and a leaf holds its rows likewise
# (panels[leaf][j][r]), so that one pass of vectors screens all children of a node, or all rows of a leaf.

# LEAF, the number of rows of a leaf, and FAN, the number of children of a node, are multiples of the number of lanes of
# the widest vector.
cdef enum:
    LEAF = 32
    FAN = 16
    FAN_BITS = 4
    MAX_HEIGHT = 16
