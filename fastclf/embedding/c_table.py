"""C source of naive Bayes with mixed distributions, and of what a TableClassifier does before its model."""

import numpy as np

from ..table import is_number
from .c_literals import doubles, integers, labels, number, string, table
from .forms import MIXED_KINDS

# The largest number of features of a model that a C file takes: they are on the stack, 8 bytes each.
_MOST_INPUTS = 1 << 16

LARGEST = """    int best = 0;
    for (int k = 1; k < PREFIX_OUTPUTS; k++)
        if (out[k] > out[best]) best = k;
    return best;
}
"""


def mixed_source(form):
    """C definitions up to the scores of a Mixed form; LARGEST is the rest."""
    kinds, starts, sizes, counts, numbers = [], [], [], [], []
    for column in form.columns:
        kinds.append(MIXED_KINDS.index(column.kind))
        starts.append(len(numbers))
        sizes.append(len(column.cells))
        counts.append(column.counts)
        numbers += [*column.cells.tolist(), *np.ravel(column.terms.T).tolist()]
    missing = "continue" if form.missing else "return -1"
    return [
        "/* Of each column: its kind (0: normal, 1 and 4: cells, 2: bins, 3: rate), where its numbers begin, the\n"
        " * number of cells or cuts, whether only whole numbers are taken. The classes' terms follow the cells. */",
        integers("kind", kinds),
        integers("start", starts),
        integers("size", sizes),
        table("unsigned char", "whole", [int(count) for count in counts]),
        doubles("terms", numbers),
        doubles("begin", form.begin),
        f"""
int PREFIX_predict(const double *x, double *out)
{{
    for (size_t k = 0; k < PREFIX_OUTPUTS; k++) out[k] = begin[k];
    for (size_t j = 0; j < PREFIX_FEATURES; j++) {{
        const double v = x[j];
        const double *cells = terms + start[j];
        const double *term = cells + size[j];
        int place = 0;
        if (v != v) {missing};
        if (v - v != 0 || (whole[j] && v != floor(v))) return -1;
        if (kind[j] == 1 || kind[j] == 4) {{
            while (place < size[j] && v != cells[place]) place++;
            if (kind[j] == 4 && place == size[j]) return -1;
        }} else if (kind[j] == 2)
            while (place < size[j] && v >= cells[place]) place++;
        else if (kind[j] == 3 && v < 0)
            return -1;
        for (size_t k = 0; k < PREFIX_OUTPUTS; k++) {{
            if (kind[j] == 0) {{
                const double off = v - term[k];
                out[k] += term[PREFIX_OUTPUTS + k] * off * off + term[2 * PREFIX_OUTPUTS + k];
            }} else if (kind[j] == 3) {{
                out[k] += term[k] - (whole[j] ? lgamma(v + 1) : 0);
                if (v > 0) out[k] += term[PREFIX_OUTPUTS + k] * v;
            }} else {{
                out[k] += term[(size_t)place * PREFIX_OUTPUTS + k];
            }}
        }}
    }}""",
    ]


def products_source(form, inner):
    """C definitions of a Products form; `inner`, the source of its model, becomes the function `of_products`."""
    n_products = len(form.factors)
    _require_few(n_products)
    inner = inner.replace("int PREFIX_predict(", "static int of_products(").replace(
        "PREFIX_FEATURES", "PREFIX_PRODUCTS"
    )
    listed = [j for factors in form.factors for j in factors]
    return [
        f"enum {{ PREFIX_PRODUCTS = {n_products} }};\n",
        inner,
        "/* The columns that are multiplied, and the number of them for each product. */",
        integers("factor", listed or [0]),
        integers("degree", [len(factors) for factors in form.factors]),
        """
int PREFIX_predict(const double *x, double *out)
{
    double products[PREFIX_PRODUCTS];
    const int *next = factor;
    for (size_t i = 0; i < PREFIX_PRODUCTS; i++) {
        products[i] = 1;
        for (int step = 0; step < degree[i]; step++) products[i] *= x[*next++];
    }
    return of_products(products, out);
}
""",
    ]


def _require_few(n_inputs):
    if n_inputs > _MOST_INPUTS:
        raise ValueError(f"the model takes {n_inputs} features; at most {_MOST_INPUTS} are wanted for a C file")


def table_source(form, inner):
    """C definitions of a TableRows form; `inner`, the source of its model, becomes the function `decide`."""
    n_inputs = form.model.n_features_in_
    _require_few(n_inputs)
    inner = inner.replace("int PREFIX_predict(", "static int decide(").replace("PREFIX_FEATURES", "PREFIX_INPUTS")
    levels = [-1 if known is None else len(known) for known in form.categories]
    lists = [
        labels(np.array(known, dtype=object), f"categories_{j}", len(known))
        for j, known in enumerate(form.categories)
        if known
    ]
    counted = ["/* Of each column: the number of its categories, -1 for numbers. */", integers("column_levels", levels)]
    names = ", ".join(string(name) for name in form.names)
    declared = "const char *const PREFIX_columns[PREFIX_FEATURES]"
    return [
        "/* The columns of x. NaN is a missing value; a category is given by its index in PREFIX_categories_J. */",
        f"enum {{ PREFIX_INPUTS = {n_inputs} }};\n",
        f"extern {declared};\n{declared} = {{{names}}};\n",
        *lists,
        inner,
        *(counted if any(form.categories) or not form.native else []),
        *(_native(form) if form.native else _features(form)),
        *(_texts(form) if any(form.categories) else []),
    ]


def _native(form):
    """C definition of PREFIX_predict for a model that handles categories and missing values itself."""
    mapped = [codes for codes in form.codes if codes is not None and len(codes)]
    if not mapped:
        return ["\nint PREFIX_predict(const double *x, double *out)\n{\n    return decide(x, out);\n}\n"]
    firsts = np.cumsum([0, *(0 if codes is None else len(codes) for codes in form.codes)])[:-1]
    return [
        "/* The model's code of each category, -1 for one that the model does not know. */",
        integers("column_codes", np.concatenate(mapped)),
        integers("column_first", firsts),
        """
int PREFIX_predict(const double *x, double *out)
{
    double inputs[PREFIX_INPUTS];
    for (size_t j = 0; j < PREFIX_INPUTS; j++) {
        inputs[j] = x[j];
        if (column_levels[j] >= 0) {
            const int known = x[j] >= 0 && x[j] < column_levels[j] && x[j] == floor(x[j]);
            const int code = known ? column_codes[column_first[j] + (int)x[j]] : -1;
            inputs[j] = code < 0 ? (double)NAN : code;
        }
    }
    return decide(inputs, out);
}
""",
    ]


def _features(form):
    """C definition of PREFIX_predict for a model of numbers and of indicators of categories, which are 0 or 1."""
    tables, shifted = [doubles("column_mean", form.mean)], ""
    if form.shifted:
        tables.append(doubles("column_spread", form.spread))
        shifted = "            inputs[k] = (inputs[k] - column_mean[j]) / column_spread[j];\n"
    return [
        *tables,
        f"""
int PREFIX_predict(const double *x, double *out)
{{
    double inputs[PREFIX_INPUTS];
    size_t k = 0;
    for (size_t j = 0; j < PREFIX_FEATURES; j++)
        if (column_levels[j] < 0) {{
            inputs[k] = x[j] == x[j] ? x[j] : column_mean[j];
{shifted}            k++;
        }}
    for (size_t j = 0; j < PREFIX_FEATURES; j++)
        for (int c = 0; c < column_levels[j]; c++) inputs[k++] = x[j] == c;
    return decide(inputs, out);
}}
""",
    ]


def _texts(form):
    """C definitions of the functions PREFIX_category and PREFIX_predict_texts, which take texts."""
    sorted_levels = [sorted(enumerate(known or []), key=lambda level: level[1].encode()) for known in form.categories]
    firsts = np.cumsum([0, *map(len, sorted_levels)])[:-1]
    levels = [level for known in sorted_levels for level in known]
    values = [float(text) if is_number(text) else np.nan for _, text in levels]
    some_numbers = any(value == value for value in values)
    by_value = """    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != 0 || strpbrk(text, "xX") != NULL) return (double)NAN;
    for (size_t i = 0; i < size; i++)
        if (level_value[first + i] == value) return level_code[first + i];
"""
    return [
        "/* The categories of each column, sorted by their bytes; their indices as categories; their values. */",
        integers("level_first", firsts),
        table("char *const", "level_text", [text for _, text in levels], string),
        integers("level_code", [code for code, _ in levels]),
        *([table("double", "level_value", values, number)] if some_numbers else []),
        f"""
#include <stdlib.h>
#include <string.h>

/* The index of a text among the categories of a column; NaN for NULL, and for a text that is no category. */
double PREFIX_category(size_t column, const char *text);
/* PREFIX_predict of a row given by a number or a text for each column, whichever it holds; the other is not read. */
int PREFIX_predict_texts(const double *numbers, const char *const *texts, double *out);

double PREFIX_category(size_t column, const char *text)
{{
    if (column >= PREFIX_FEATURES || column_levels[column] <= 0 || text == NULL) return (double)NAN;
    const size_t first = (size_t)level_first[column], size = (size_t)column_levels[column];
    size_t low = 0, high = size;
    while (low < high) {{
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(level_text[first + middle], text);
        if (order == 0) return level_code[first + middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }}
{by_value if some_numbers else ""}    return (double)NAN;
}}

int PREFIX_predict_texts(const double *numbers, const char *const *texts, double *out)
{{
    double x[PREFIX_FEATURES];
    for (size_t j = 0; j < PREFIX_FEATURES; j++)
        x[j] = column_levels[j] < 0 ? numbers[j] : PREFIX_category(j, texts[j]);
    return PREFIX_predict(x, out);
}}
""",
    ]
