# Codes of one byte per coordinate: their definition, the proof that they bound every distance from below, and their
# layout in memory.
#
# Definition. Each row x becomes a point Y(x) of few coordinates. Two points are never farther apart than their rows:
#
#     rotated:   w = g (x - mu),  Y(x) = clip((V'w, |w - V V'w| - rho) / step)     for some matrix V (d, m), m < d
#     as it is:  w = g (x - mu),  Y(x) = clip(w / step)                            (all metrics; manhattan always)
#
# in units of step, with a centre mu of the rows, a power of two g and a constant rho. clip brings each coordinate into
# -127..127: the projection onto a box, which enlarges no distance. (For inner products Y is not clipped, and what its
# codes cut off is an error like any other.) For cosine, x / |x| stands for x.
#
# With G = V'V - I and delta >= |G|, in real numbers and for any vector w
#
#     |V'w|^2 + |w - V V'w|^2  =  |w|^2 + (V'w)' G (V'w)  <=  |w|^2 + delta |V'w|^2 ,
#
# so |Y(q) - Y(x)| <= per |q - x| with per = g / step / sqrt(1 - delta): V need not be orthogonal, only near it, as the
# norms of the remainders differ by no more than the remainders. The code c(x) is Y(x) rounded to integers in
# -127..127, and its slack e(x) >= |Y(x) - c(x)| bounds the errors by rounding and by computing in float32, see below.
# So, by the triangle inequality, every row at a distance of at most tau has
#
#     |c(q) - c(x)| <= per tau + e(q) + e(x)
#
# where |c(q) - c(x)|^2 = |c(q)|^2 + |c(x)|^2 - 2 c(q)'c(x) is computed in integers, without error. tau is a computed
# distance, and the real one is at most tau (1 + 2 (d + 4) 2^-53) + sqrt(d) 2^-537, the last for squares that vanish.
# Cosine distances are half the squares of distances between unit vectors, up to (2 d + 8) 2^-53. Manhattan is the same
# with sums of absolute values for norms.
#
# Inner products: with B = V'w, r = |w - V V'w| (rho = 0), real numbers again, q'w = Bq'Bw + (rest q)'(rest w) - Bq'G Bw
# <= Y(q)'Y(w) + delta |Bq| |Bw|, and Y = c + error on both sides, so a row with -x'q <= tau has
#
#     c(q)'c(x)  >=  -per (tau + mu'q + delta |q| |x|)  -  |c(q)| e(x)  -  e(q) (|c(x)| + e(x)).
#
# Errors of coding, with u = 2^-24, N = |w|, F = |V|_F, all in units of step: w is rounded from float64, 2 u N; V'w is
# a sum of d products, off by (d + 2) u F N, and 1.01 times 2 u N more; w - V V'w by (m + 2) u (1 + 1.1 F) N more than
# what V'w brings in; its norm by (d + 4) u N; scaling by 3 u N. Together at most kappa N, with
#
#     kappa = 1.1 u (2.1 ((d + 2) F + 3) + (m + 2) (1 + 1.1 F) + 1.1 (d + 4) + 8)     while d u, delta < 0.01
#
# and 4 u N for rows as they are. What underflows is less than 1e-6 steps, where a step is at least 2^-40 (`_best_step`
# in `code_plan.py`). Sums of n floats, the slacks and norms themselves, are off by a relative n u, for which 2 n u is
# added. A row whose norm overflows has infinite slack, so that its distance is always computed. Unit vectors are off by
# 3 2^-53 before mu is subtracted, for which 1e-15 is added to tau.
#
# Codes lie in panels of 16 rows: the first 4 coordinates (8 for manhattan) of each row, one row after another, then the
# next 4 (8) coordinates of each row, and so on.

cdef enum:
    PANEL = 16
    BLOCK = 256  # the number of consecutive rows that share one slack, an upper bound of their coding errors
