"""Support vector machines without an intercept: hyperplanes through the origin of the kernel's feature space.

The dual lacks the constraint that the sum of y alpha is 0. It is solved by the solvers that have the constraint: each
row phi of label y also occurs as its mirror image -phi of label -y, and half of the bound of alpha is for each of the
two. Then the best intercept is 0 by symmetry, and y times the sum of both alphas is the coefficient of the row.
"""

import numpy as np

from .._csr import Csr
from ..kernels.values import Rows
from .dual import PROOF, add
from .gram import GivenKernel, Gram, padded
from .pairs import Problem, Solutions
from .small_pairs import SOLVED, STOPPED

# The largest number of fits for each pair of classes without an intercept. Each is a fit, with intercept, to the rows
# and their mirror images in the other class. The intercept that it finds may differ from 0 by as much as the tolerance
# allows; as the violation is then measured with intercept 0, the fit is repeated with a tenth of the tolerance.
_FITS = 6


class OriginProblem(Problem):
    """A `Problem` whose classifiers have no intercept."""

    def solve(self, options, found, watch):
        """Solve each pair for each C; each C starts from the solution for the C before."""
        for p, pair in enumerate(self.pairs):
            # a pair may have no rows: with `probability`, problems are folds, which may lack both of its classes
            if len(self.rows_of(pair)[0]):
                self._solve_pair(p, pair, options, found, watch)
            else:
                found.status[:, p] = SOLVED

    def lost_without_weights(self, y, weight):
        """(the sum of weighted losses with w = 0, which are 1 for each row, the intercept 0)."""
        return float(weight.sum()), 0.0

    def violation(self, pair, coef):
        """The violation of a pair, with f computed anew in float64; coef: (n_classes - 1, rows sorted by class)."""
        rows, y = self.rows_of(pair)
        return self._proof(rows, y, self.Cs[0][rows], self.coef_of(pair, coef), 1)[PROOF["violation"]]

    def _solve_pair(self, p, pair, options, found, watch):
        rows, y = self.rows_of(pair)
        m, gram, codes = len(rows), mirrored(self.gram, rows), (np.concatenate([y, -y]) > 0).astype(np.intp)
        coef = np.concatenate(found.of_pair(0, pair))
        for c, C in enumerate(self.Cs):
            both, tol = Problem(gram, codes, [np.tile(0.5 * C[rows], 2)], 2), options["tol"]
            for _ in range(_FITS):
                start = 0.5 * np.concatenate([coef, -coef])[both.rows][None] if coef.any() else None
                part = Solutions(both, options | {"tol": tol}, start)
                both.solve(options | {"tol": tol}, part, watch)
                alpha = np.empty(2 * m)
                alpha[both.rows] = part.coef[0, 0]
                coef = alpha[:m] - alpha[m:]
                found.n_steps[c, p] += part.n_steps[0, 0]
                proof = self._proof(rows, y, C[rows], coef, options["threads"])
                converged = proof[PROOF["violation"]] <= options["tol"]
                if converged or part.status[0, 0] == STOPPED:
                    break
                tol *= 0.1
            first, second = found.of_pair(c, pair)
            first[:], second[:] = np.split(coef, [len(first)])
            found.proof[c, p], found.status[c, p] = proof, SOLVED if converged else STOPPED
            found.reason = found.reason or part.reason

    def _proof(self, rows, y, C, coef, threads):
        """Objectives, their gap and violations of the solution coef = y alpha with intercept 0, where alpha <= C."""
        gram, support, f = self.gram.of_type(np.float64), np.flatnonzero(coef), np.zeros((1, len(rows)))
        for _ in add(gram, rows[support], coef[support][None], rows, f, threads):
            pass
        f, alpha = f[0], np.abs(coef)
        slack, square = 1 - y * f, float(np.sum(coef * f))
        rise, fall = np.max(slack, where=alpha < C, initial=0), np.max(-slack, where=alpha > 0, initial=0)
        objective, least = float(alpha.sum()) - 0.5 * square, 1.0
        if np.isinf(C).any():
            least = float((y * f).min())
            primal = 0.5 * square / least**2 if least > 0 else np.inf
        else:
            primal = 0.5 * square + float(np.sum(C * np.maximum(slack, 0)))
        proof = np.zeros(len(PROOF))
        margin = least / np.sqrt(square) if square > 0 else np.inf
        values = {"violation": rise + fall, "objective": objective, "gap": primal - objective, "margin": margin}
        for name, value in values.items():
            proof[PROOF[name]] = value
        return proof


def mirrored(gram, rows):
    """Kernel values between the m listed rows, which become rows 0 to m - 1, and their mirror images, rows m to 2 m."""
    m = len(rows)
    if isinstance(gram, Gram) and gram.kernel.name == "linear":
        X = gram.X.matrix[rows]
        if isinstance(X, Csr):
            indptr = np.concatenate([X.indptr, X.indptr[1:] + X.indptr[-1]])
            indices, data = X.indices[: X.size], X.data[: X.size]
            both = Csr(indptr, np.tile(indices, 2), np.concatenate([data, -data]), X.n_columns)
        else:
            both = np.concatenate([X, -X])
        return Gram(gram.kernel, Rows(both), gram.dtype, gram.free_dtype)
    exact = gram.of_type(np.float64)

    def values(first, second):
        few = rows[second % m]
        out = np.empty((len(first), padded(len(second), max(1, exact.wide))))
        exact.fill(exact.pack(rows[first % m]), few, out, 1)
        sign = np.where(first < m, 1.0, -1.0)[:, None] * np.where(second < m, 1.0, -1.0)
        return sign * out[:, : len(second)]

    return GivenKernel(values, 2 * m, np.float64)
