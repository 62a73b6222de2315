"""Student's t distribution."""

import math


def cdf(t, dof):
    """P(T <= t) for `dof` degrees of freedom, to 12 digits."""
    tail = _beta_share(dof / (dof + t * t), dof / 2, 0.5) / 2
    return 1 - tail if t > 0 else tail


def quantile(p, dof):
    """The t with P(T <= t) = p, 0 < p < 1."""
    if p < 0.5:
        return -quantile(1 - p, dof)
    low, high = 0.0, 1.0
    while cdf(high, dof) < p:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle, dof) < p else (low, middle)
    return high


def _beta_share(x, a, b):
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Press et al., 6.4)."""
    if x in (0, 1):
        return float(x)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        before = value
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            c, d = 1 + numerator / c, 1 / (1 + numerator * d)
            value *= c * d
        if abs(value - before) <= 1e-15 * abs(value):
            break
    return front * value / a
