"""Export of fitted models: as C source without dependencies, and as ONNX graphs."""

import re

import numpy as np

from .. import __version__
from .._csr import Csr
from .._validation import as_path, described
from ..kernels.values import KINDS
from ..neighbors.classifier import KNeighborsClassifier
from ..neighbors.voting import Voters
from ..tree.nodes import split_steps
from .c_literals import comment, doubles, integers, labels, number, table
from .c_table import LARGEST, mixed_source, products_source, table_source
from .forms import Bayes, Linear, Machine, Mixed, Products, Rows, TableRows, TreeNodes, form_of

# The largest number of values in the rows of neighbours that a C file may hold; more would overload a compiler.
_MOST_NUMBERS = 1 << 20


def export_c(model, path, *, name="model"):
    """Write a fitted model as one C99 file of tables and loops; it uses only C's own library, and does not allocate.

    The file defines `int NAME_predict(const double *x, double *out)`, which may be called from any number of threads.
    It returns the index in `classes_` (0 for a regressor), or -1 if `predict` would refuse x. It writes NAME_OUTPUTS
    scores to `out`: `decision_function` of a linear model or SVC ('ovo'), log P(x, class) of naive Bayes,
    `predict_proba` of trees and neighbours, the prediction of a regressor. NAME_FEATURES, NAME_OUTPUTS and NAME_CLASSES
    are constants, and NAME_classes has the labels. For a tree, NaN is a missing value, and a category is given by its
    index in `categories_`, which the file lists as NAME_categories_J for column J. The file compiles without a warning
    with `-std=c99 -Wall -Wextra -Wconversion -pedantic`; link with `-lm`.

    Of a TableClassifier, which `fastclf train` saves, the file has everything from the row to the label: NAME_columns
    names the columns of x, NaN is a missing value, and a category is given by its index in NAME_categories_J.
    `double NAME_category(size_t column, const char *text)` finds the index of a text (NaN if it is missing, NULL, or no
    category), and `int NAME_predict_texts(const double *numbers, const char *const *texts, double *out)` takes for each
    column a number or a text, whichever the column holds. Dates are days since 1970-01-01.

    Parameters
    ----------
    model : estimator
        Fitted: a linear classifier with `coef_`, GaussianNB, MultinomialNB, ComplementNB, BernoulliNB, PoissonNB,
        CategoricalNB, NaiveBayes (without 'kernel' and 'multinomial'), a decision tree (for labels, with one output),
        SVC with a named kernel; or KNeighborsClassifier or KNeighborsRegressor with one output and without
        `sample_weight`, weights 'uniform' or 'distance', metric 'euclidean', 'sqeuclidean', 'manhattan' or 'chebyshev',
        and at most 1048576 values; or a GeneralisedLinearClassifier with PolynomialFeatures, or a TableClassifier, of
        one of these, with at most 65536 features.
    path : str or path-like
        The file to write.
    name : str, default='model'
        The prefix of the names in the file: a C identifier.

    Raises
    ------
    TypeError, ValueError
        The model is none of these.

    Notes
    -----
    The answers are those of `predict`: equal bits for trees and neighbours; scores of the others are summed in another
    order and differ by rounding errors, for an SVC with `kernel_dtype` float32 by those of float32. Neighbours take O(n
    d) per call, and 16 bytes of stack for each of `n_neighbors`; a model of
    features takes 8 for each feature.

    Examples
    --------
    >>> import fastclf, os, tempfile
    >>> tree = fastclf.DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fastclf.export_c(tree, os.path.join(folder, "tree.c"), name="tree")
    ...     print("int tree_predict(const double *x, double *out)" in open(os.path.join(folder, "tree.c")).read())
    True
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name, re.ASCII):
        raise ValueError(f"name is {described(name)}; a C identifier is wanted")
    form = form_of(model)
    n_outputs, body = _body(model, form)
    if isinstance(form, TreeNodes):
        body = [*_categories(model), *body]
    classes = getattr(model, "classes_", None)
    listed_labels = [] if classes is None else [labels(classes, "classes", "PREFIX_CLASSES")]
    constants = [("FEATURES", model.n_features_in_), ("OUTPUTS", n_outputs)]
    if classes is not None:
        constants.append(("CLASSES", len(classes)))
    listed = ", ".join(f"PREFIX_{key} = {value}" for key, value in constants)
    text = "\n".join([_HEAD, f"enum {{ {listed} }};\n", _PROTOTYPE, *listed_labels, *body])
    text = text.replace("MODEL_TEXT", comment(f"{model!r}, by fastclf {__version__}"))
    as_path(path).write_text(re.sub(r"\bPREFIX_", f"{name}_", text), encoding="ascii")


def _body(model, form):
    """(the number of outputs of a model, C definitions of which the last is the function PREFIX_predict).

    form: the arrays and numbers that decide the model's answers, as `form_of` returns them.
    """
    if isinstance(form, TableRows):
        n_outputs, inner = _body(form.model, form.form)
        return n_outputs, table_source(form, "\n".join(inner))
    if isinstance(form, Products):
        n_outputs, inner = _body(form.model, form.form)
        return n_outputs, products_source(form, "\n".join(inner))
    if isinstance(form, Mixed):
        return len(form.begin), [*mixed_source(form), LARGEST]
    writer = {Rows: _neighbors, TreeNodes: _tree, Linear: _linear, Bayes: _bayes, Machine: _machine}[type(form)]
    return writer(model, form)


_HEAD = """/* MODEL_TEXT
 *
 * PREFIX_predict returns the position in PREFIX_classes (0 for a regressor) of the row x of PREFIX_FEATURES numbers,
 * or -1 for numbers that are refused; out takes PREFIX_OUTPUTS scores. It allocates nothing, writes nowhere else, and
 * may be called from any number of threads. C99; link with -lm. */
#include <math.h>
#include <stddef.h>
"""

_PROTOTYPE = "int PREFIX_predict(const double *x, double *out);\n"

_NOT_FINITE, _INFINITE = "!(x[j] - x[j] == 0)", "x[j] - x[j] != 0 && x[j] == x[j]"

_BEGIN = f"""
int PREFIX_predict(const double *x, double *out)
{{
    for (size_t j = 0; j < PREFIX_FEATURES; j++)
        if ({_NOT_FINITE}) return -1;"""


def _linear(model, form):
    choose = "    return out[0] > 0;\n}\n" if len(form.coef) == 1 else LARGEST
    return len(form.coef), [
        doubles("coef", form.coef),
        doubles("intercept", form.intercept),
        _BEGIN,
        """    for (size_t k = 0; k < PREFIX_OUTPUTS; k++) {
        double sum = 0;
        for (size_t j = 0; j < PREFIX_FEATURES; j++) sum += coef[k * PREFIX_FEATURES + j] * x[j];
        out[k] = sum + intercept[k];
        if (!(out[k] - out[k] == 0)) return -1;
    }""",
        choose,
    ]


def _bayes(model, form):
    tables, terms, after = [doubles("begin", form.begin)], [], []
    value = "x[j]"
    if form.tables is not None:
        first = np.concatenate([[0], np.cumsum([entries.shape[1] for entries in form.tables])])
        tables += [integers("first", first), doubles("table", np.concatenate(form.tables, axis=1).T)]
        terms = [
            "const int size = first[j + 1] - first[j] - 1;",
            "const int place = first[j] + (x[j] < size ? (int)x[j] : size);",
            "sum += table[(size_t)place * PREFIX_OUTPUTS + k];",
        ]
    elif form.mean is not None:
        tables += [doubles("constant", form.constant), doubles("mean", form.mean), doubles("weight", form.weight)]
        terms = [
            "const double off = x[j] - mean[k * PREFIX_FEATURES + j];",
            "sum += weight[k * PREFIX_FEATURES + j] * off * off;",
        ]
        after = ["sum += constant[k];"]
    else:
        tables += [doubles("weight", form.weight)]
        if form.threshold is not None:
            value = f"(x[j] > {number(form.threshold)} ? 1.0 : 0.0)"
        terms = [f"const double value = {value};", "sum += weight[k * PREFIX_FEATURES + j] * value;"]
        for marked, name, sign in ((form.impossible, "impossible", 1), (form.wanted, "wanted", -1)):
            if marked is not None:
                tables.append(table("unsigned char", name, np.ravel(marked).astype(int).tolist()))
                most = f"hits_{name}"
                terms.append(f"if ({name}[k * PREFIX_FEATURES + j]) {most} += value;")
                if sign < 0:
                    tables.append(integers("n_wanted", marked.sum(axis=1)))
                test = f"{most} > 0" if sign > 0 else f"{most} < n_wanted[k]"
                after.append(f"if ({test}) sum = -(double)INFINITY;")
    counters = [f"double hits_{name} = 0;" for name in ("impossible", "wanted") if getattr(form, name) is not None]
    lines = [
        "for (size_t k = 0; k < PREFIX_OUTPUTS; k++) {",
        *(f"    {line}" for line in ["double sum = 0;", *counters]),
    ]
    lines += ["    for (size_t j = 0; j < PREFIX_FEATURES; j++) {", *(f"        {term}" for term in terms), "    }"]
    lines += [f"    {line}" for line in after] + ["    out[k] = begin[k] + sum;", "}"]
    if form.nonnegative:
        lines.insert(0, "for (size_t j = 0; j < PREFIX_FEATURES; j++)\n        if (x[j] < 0) return -1;")
    return len(form.begin), [*tables, _BEGIN, "\n".join(f"    {line}" for line in lines), LARGEST]


def _tree(model, form):
    steps = split_steps(form._asdict())
    leaf = steps.right == np.arange(len(steps.right))
    number = np.cumsum(leaf) - 1
    tables = [
        "/* A node's left child is the next one. A leaf's feature is -1, and its right child its number as a leaf. */",
        doubles("threshold", np.where(leaf | steps.by_subset, 0, steps.threshold)),
        integers("feature", np.where(leaf, -1, steps.feature)),
        integers("right", np.where(leaf, number, steps.right)),
        table("unsigned char", "missing_left", steps.missing_left.astype(int).tolist()),
        doubles("value", form.value[leaf]),
    ]
    side = "        const int left = v <= threshold[node] || (v != v && missing_left[node]);"
    if steps.by_subset.any():
        members = [steps.members(form.subsets, node) for node in np.flatnonzero(steps.by_subset)]
        first, size = np.zeros((2, len(leaf)), int)
        size[steps.by_subset] = [len(listed) for listed in members]
        first[steps.by_subset] = np.cumsum([0, *size[steps.by_subset][:-1]])
        tables += [
            "/* Of a node that splits categories: how many, and from where on `member` says who goes left. */",
            integers("size", size),
            integers("first", first),
            table("unsigned char", "member", np.concatenate(members).astype(int).tolist()),
        ]
        side = """        int left = v <= threshold[node] || (v != v && missing_left[node]);
        if (size[node] > 0) left = v >= 0 && v < size[node] ? member[first[node] + (int)v] : missing_left[node];"""
    if form.best is not None:
        tables.append(integers("best", form.best[leaf]))
    return form.value.shape[1], [
        *tables,
        _BEGIN.replace(_NOT_FINITE, _INFINITE),
        f"""    size_t node = 0;
    while (feature[node] >= 0) {{
        const double v = x[feature[node]];
{side}
        node = left ? node + 1 : (size_t)right[node];
    }}
    const size_t leaf = (size_t)right[node];
    for (size_t k = 0; k < PREFIX_OUTPUTS; k++) out[k] = value[leaf * PREFIX_OUTPUTS + k];""",
        f"    return {'0' if form.best is None else 'best[leaf]'};\n}}\n",
    ]


def _categories(model):
    """C definitions of an array for each categorical feature, which has its categories in the order of their codes."""
    known = enumerate(getattr(model, "categories_", None) or [])
    return [labels(listed, f"categories_{j}", len(listed)) for j, listed in known if listed is not None]


_VALUES = {
    "linear": "s",
    "poly": "power",
    "rbf": "exp(-GAMMA * s)",
    "sigmoid": "tanh(GAMMA * s + COEF0)",
}


def _machine(model, form):
    kernel, K, n = KINDS[form.kernel], len(form.starts) - 1, len(form.support)
    term = "const double t = x[j] - support[row * PREFIX_FEATURES + j];\n            s += t * t;"
    if kernel != "rbf":
        term = "s += x[j] * support[row * PREFIX_FEATURES + j];"
    power = ""
    if kernel == "poly":
        power = f"""
        double power = 1;
        for (int i = 0; i < {form.degree}; i++) power *= GAMMA * s + COEF0;"""
    value = _VALUES[kernel]
    for name, constant in (("GAMMA", form.gamma), ("COEF0", form.coef0)):
        value, power = (text.replace(name, f"({number(constant)})") for text in (value, power))
    scores = f"""    for (size_t p = 0; p < PREFIX_OUTPUTS; p++) out[p] = intercept[p];
    for (size_t row = 0; row < {n}; row++) {{
        const size_t c = owner[row];
        double s = 0;
        for (size_t j = 0; j < PREFIX_FEATURES; j++) {{
            {term}
        }}{power}
        const double value = {value};
        /* column a K - a (a + 1) / 2 + b - a - 1 is that of the pair a < b */
        for (size_t b = c + 1; b < {K}; b++)
            out[c * {K} - c * (c + 1) / 2 + b - c - 1] += coef[(b - 1) * {n} + row] * value;
        for (size_t a = 0; a < c; a++)
            out[a * {K} - a * (a + 1) / 2 + c - a - 1] += coef[a * {n} + row] * value;
    }}
    for (size_t p = 0; p < PREFIX_OUTPUTS; p++)
        if (!(out[p] - out[p] == 0)) return -1;"""
    choose = "    return out[0] > 0;\n}\n"
    if K > 2:
        choose = f"""    int votes[{K}] = {{0}};
    const double *score = out;
    for (int a = 0; a < {K}; a++)
        for (int b = a + 1; b < {K}; b++) votes[*score++ > 0 ? a : b]++;
    int best = 0;
    for (int k = 1; k < {K}; k++)
        if (votes[k] > votes[best]) best = k;
    return best;
}}
"""
    return len(form.intercept), [
        doubles("support", form.support),
        table("unsigned", "owner", np.repeat(np.arange(K), np.diff(form.starts)).tolist()),
        doubles("coef", form.coef),
        doubles("intercept", form.intercept),
        _BEGIN,
        scores,
        choose,
    ]


_TERMS = {
    "euclidean": ("s += t * t;", "sqrt(s)"),
    "sqeuclidean": ("s += t * t;", "s"),
    "manhattan": ("s += fabs(t);", "s"),
    "chebyshev": ("s = fabs(t) > s ? fabs(t) : s;", "s"),
}


def _neighbors(model, form):
    X, metric = form.index.X, form.index.metric
    classifies = isinstance(model, KNeighborsClassifier)
    target = (model._codes if classifies else model._y) if isinstance(model, Voters) else np.empty(0)
    if target.size != len(X) or model._weight is not None:
        raise TypeError(
            f"model is {described(model)}; a classifier or regressor with one output, fitted without sample_weight, is"
            " wanted"
        )
    if not isinstance(X, np.ndarray | Csr) or metric.name not in _TERMS or callable(model.weights):
        raise ValueError(
            f"model searches by metric {metric.shown!r} with weights {model.weights!r}; a metric"
            f" among {', '.join(map(repr, _TERMS))} of rows in an array or sparse matrix, and weights 'uniform' or"
            " 'distance', are wanted"
        )
    if X.size > _MOST_NUMBERS:
        raise ValueError(f"X has {X.size} numbers; at most {_MOST_NUMBERS} are wanted for a C file")
    if model.n_neighbors > len(X):
        raise ValueError(f"n_neighbors is {model.n_neighbors}; at most the {len(X)} fitted rows are wanted")
    kind, suffix = ("float", "f") if X.dtype == np.float32 else ("double", "")
    values = (X.data if isinstance(X, Csr) else np.ravel(X)).tolist()
    lines = [", ".join(number(v, suffix) for v in values[i : i + 4]) for i in range(0, len(values), 4)]
    rows = f"static const {kind} rows[{max(1, len(values))}] = {{\n    " + (",\n    ".join(lines) or "0") + "\n};"
    if isinstance(X, Csr):
        rows += "\n/* The entries of row i are rows[start[i]] to rows[start[i + 1] - 1], in the columns `column`. */\n"
        rows += integers("start", X.indptr) + integers("column", X.indices if len(X.indices) else [0])
    search = _search(metric.name, len(X), model.n_neighbors, isinstance(X, Csr))
    if classifies:
        far = ["    double far[PREFIX_CLASSES] = {0};"] if model.ties == "distance" else []
        return len(model.classes_), [rows, integers("code", target), _BEGIN, *far, search, _election(model)]
    return 1, [rows, doubles("target", target), _BEGIN, search, _mean(model)]


def _search(metric, n_rows, k, sparse):
    """C code of a loop that finds the k nearest rows, the nearest first."""
    term, root = _TERMS[metric]
    begin, value = "", "(double)rows[row * PREFIX_FEATURES + j]"
    if sparse:
        begin = "\n        int entry = start[row];"
        value = "(entry < start[row + 1] && (size_t)column[entry] == j ? (double)rows[entry++] : 0.0)"
    return f"""    double distance[{k}];
    size_t index[{k}];
    size_t found = 0;
    for (size_t row = 0; row < {n_rows}; row++) {{
        double s = 0;{begin}
        for (size_t j = 0; j < PREFIX_FEATURES; j++) {{
            const double t = {value} - x[j];
            {term}
        }}
        s = {root};
        if (found == {k} && !(s < distance[{k - 1}])) continue;
        size_t place = found < {k} ? found++ : {k - 1};
        for (; place > 0 && s < distance[place - 1]; place--) {{
            distance[place] = distance[place - 1];
            index[place] = index[place - 1];
        }}
        distance[place] = s;
        index[place] = row;
    }}"""


def _vote(model):
    """A C expression for the weight of neighbour i's vote in k-NN: 1, or inversely proportional to its distance."""
    return "(distance[i] == distance[0] ? 1.0 : distance[0] / distance[i])" if model.weights == "distance" else "1.0"


def _mean(model):
    return f"""    double total = 0, sum = 0;
    for (size_t i = 0; i < {model.n_neighbors}; i++) {{
        const double vote = {_vote(model)};
        total += vote;
        sum += vote * target[index[i]];
    }}
    out[0] = sum / total;
    return 0;
}}
"""


def _election(model):
    nearer = model.ties == "distance"
    better = "out[c] > out[best]" + (" || (out[c] == out[best] && far[c] < far[best])" if nearer else "")
    return f"""    double total = 0;
    for (size_t c = 0; c < PREFIX_CLASSES; c++) out[c] = 0;
    for (size_t i = 0; i < {model.n_neighbors}; i++) {{
        const double vote = {_vote(model)};
        out[code[index[i]]] += vote;
        total += vote;{" far[code[index[i]]] += distance[i];" if nearer else ""}
    }}
    int best = 0;
    for (int c = 1; c < PREFIX_CLASSES; c++)
        if ({better}) best = c;
    for (size_t c = 0; c < PREFIX_CLASSES; c++) out[c] /= total;
    return best;
}}
"""


def export_onnx(model, path):
    """Write a fitted model as an ONNX graph, all in float64; needs the package onnx (extra 'onnx').

    The input is `X` (n, n_features); the outputs are `label` (n,), int64, float64 or strings (for a regressor
    `value`, float64), and `scores` (n, n_outputs), the same as in `export_c`.

    A TableClassifier, which `fastclf train` saves, has an input (n,) for each column, with the column's name: float64
    for numbers, strings for categories, as `categories_` writes them ("7", not "07" or "7.0"); NaN and "" are missing.
    A column `label` or `scores` has the input "column label" or "column scores".

    Parameters
    ----------
    model : estimator
        Fitted: a linear classifier with `coef_`, GaussianNB, MultinomialNB, ComplementNB, BernoulliNB, PoissonNB,
        CategoricalNB, NaiveBayes (without 'kernel' and 'multinomial'), a decision tree, SVC with a named kernel, or a
        GeneralisedLinearClassifier with PolynomialFeatures, or a TableClassifier, of one of these; the labels are
        numbers, bools (exported as 0 and 1) or strings.
    path : str or path-like
        File to write.

    Raises
    ------
    ImportError
        onnx is not installed.
    TypeError, ValueError
        ONNX has no operators for the model, such as nearest neighbours.

    Notes
    -----
    A graph refuses nothing: NaN, which `predict` refuses, is computed with. Operator set 17, and 3 of `ai.onnx.ml` for
    trees. The answers are those of `predict`, up to rounding of scores.

    Examples
    --------
    >>> import fastclf
    >>> model = fastclf.GaussianNB().fit([[-1.0], [-2.0], [1.0], [2.0]], ["low", "low", "high", "high"])
    >>> fastclf.export_onnx(model, "model.onnx")  # doctest: +SKIP
    """
    form = form_of(model)
    inner = form
    while isinstance(inner, (TableRows, Products)):
        inner = inner.form
    if isinstance(inner, Rows):
        raise TypeError(f"model is {described(model)}, for which ONNX has no operator; export_c writes it as C")
    from .onnx_graph import write_graph

    write_graph(model, form, as_path(path))
