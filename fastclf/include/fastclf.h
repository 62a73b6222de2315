/* fastclf for C99 and C++17. In each file that calls it, once and with the GIL:
 *
 *     if (fastclf_import() < 0) return NULL;      // a Python exception is set
 *
 * Then fastclf->nearest_d(...) and so on. fastclf/capi.pxd, in the folder above this one, describes each function, and
 * EMBEDDING.md has examples. All but `take` may be called without the GIL, from any number of threads.
 *
 * Between releases functions are added at the end of the table, each addition with a larger FASTCLF_ABI. */
#ifndef FASTCLF_H
#define FASTCLF_H

#include <Python.h>

#include <stdint.h>

#define FASTCLF_ABI 2

enum { FASTCLF_OK = 0, FASTCLF_BAD_MODEL = 1, FASTCLF_BAD_SIZE = 2, FASTCLF_BAD_VALUE = 3 };
enum { FASTCLF_NEIGHBORS = 1, FASTCLF_LINEAR = 2, FASTCLF_BAYES = 3, FASTCLF_TREE = 4, FASTCLF_MACHINE = 5 };
enum { FASTCLF_GINI = 0, FASTCLF_ENTROPY = 1, FASTCLF_MISCLASSIFICATION = 2, FASTCLF_SQUARED_ERROR = 3 };

#ifndef FASTCLF_MODEL
#define FASTCLF_MODEL
typedef struct fastclf_model fastclf_model;
#endif

typedef struct {
    int (*abi)(void);
    fastclf_model *(*take)(PyObject *embedded);
    void (*retain)(fastclf_model *model);
    void (*release)(fastclf_model *model);
    int (*kind)(const fastclf_model *model);
    Py_ssize_t (*n_features)(const fastclf_model *model);
    Py_ssize_t (*n_outputs)(const fastclf_model *model);
    Py_ssize_t (*n_classes)(const fastclf_model *model);
    Py_ssize_t (*n_rows)(const fastclf_model *model);
    Py_ssize_t (*scratch_size)(const fastclf_model *model, Py_ssize_t n, Py_ssize_t k);
    int (*nearest_d)(
        const fastclf_model *model, const double *queries, Py_ssize_t n, Py_ssize_t k, double *distance,
        Py_ssize_t *index, void *scratch);
    int (*nearest_f)(
        const fastclf_model *model, const float *queries, Py_ssize_t n, Py_ssize_t k, double *distance,
        Py_ssize_t *index, void *scratch);
    int (*decide_d)(const fastclf_model *model, const double *rows, Py_ssize_t n, double *scores, void *scratch);
    int (*decide_f)(const fastclf_model *model, const float *rows, Py_ssize_t n, double *scores, void *scratch);
    int (*log_joint_d)(const fastclf_model *model, const double *rows, Py_ssize_t n, double *out, void *scratch);
    int (*log_joint_f)(const fastclf_model *model, const float *rows, Py_ssize_t n, double *out, void *scratch);
    int (*log_proba_d)(const fastclf_model *model, const double *rows, Py_ssize_t n, double *out, void *scratch);
    int (*log_proba_f)(const fastclf_model *model, const float *rows, Py_ssize_t n, double *out, void *scratch);
    int (*proba_d)(const fastclf_model *model, const double *rows, Py_ssize_t n, double *out, void *scratch);
    int (*proba_f)(const fastclf_model *model, const float *rows, Py_ssize_t n, double *out, void *scratch);
    int (*apply_d)(const fastclf_model *model, const double *rows, Py_ssize_t n, int64_t *leaf);
    int (*apply_f)(const fastclf_model *model, const float *rows, Py_ssize_t n, int64_t *leaf);
    int (*classify_d)(
        const fastclf_model *model, const double *rows, Py_ssize_t n, Py_ssize_t *code, void *scratch);
    int (*classify_f)(const fastclf_model *model, const float *rows, Py_ssize_t n, Py_ssize_t *code, void *scratch);
    int (*estimate_d)(const fastclf_model *model, const double *rows, Py_ssize_t n, double *out, void *scratch);
    int (*estimate_f)(const fastclf_model *model, const float *rows, Py_ssize_t n, double *out, void *scratch);
    double (*dot_d)(const double *x, const double *y, Py_ssize_t n);
    double (*dot_f)(const float *x, const float *y, Py_ssize_t n);
    int (*axpy_d)(Py_ssize_t n, double a, const double *x, double *y);
    int (*axpy_f)(Py_ssize_t n, float a, const float *x, float *y);
    int (*heap_begin)(double *distance, Py_ssize_t *index, Py_ssize_t k);
    int (*heap_push)(double *distance, Py_ssize_t *index, Py_ssize_t k, double a, Py_ssize_t i);
    int (*heap_sort)(double *distance, Py_ssize_t *index, Py_ssize_t k);
    Py_ssize_t (*squared_distances_scratch)(Py_ssize_t d);
    int (*squared_distances_d)(
        const double *rows, Py_ssize_t n_rows, const double *queries, Py_ssize_t n_queries, Py_ssize_t d,
        double *out, void *scratch);
    int (*squared_distances_f)(
        const float *rows, Py_ssize_t n_rows, const float *queries, Py_ssize_t n_queries, Py_ssize_t d, double *out,
        void *scratch);
    Py_ssize_t (*best_split_scratch)(Py_ssize_t n, Py_ssize_t n_classes);
    int (*best_split_d)(
        const double *x, const int *code, const double *y, const double *weight, Py_ssize_t n, Py_ssize_t n_classes,
        int criterion, Py_ssize_t min_leaf, Py_ssize_t *cut, double *threshold, double *score, void *scratch);
    int (*best_split_f)(
        const float *x, const int *code, const double *y, const double *weight, Py_ssize_t n, Py_ssize_t n_classes,
        int criterion, Py_ssize_t min_leaf, Py_ssize_t *cut, double *threshold, double *score, void *scratch);
    int (*smo_first)(
        Py_ssize_t n, const double *y, const double *C, const double *alpha, const double *grad, Py_ssize_t *i,
        double *violation);
    int (*smo_second)(
        Py_ssize_t n, const double *y, const double *C, const double *alpha, const double *grad, Py_ssize_t i,
        const double *K_i, const double *diagonal, Py_ssize_t *j);
    int (*smo_step)(
        Py_ssize_t n, const double *y, const double *C, double *alpha, double *grad, Py_ssize_t i, Py_ssize_t j,
        const double *K_i, const double *K_j);
    int (*perceptron_epoch_d)(
        const double *rows, Py_ssize_t n, Py_ssize_t d, const int *code, const int64_t *order, double eta,
        int intercept, double *w, double *b, int64_t *mistakes);
    int (*perceptron_epoch_f)(
        const float *rows, Py_ssize_t n, Py_ssize_t d, const int *code, const int64_t *order, double eta,
        int intercept, double *w, double *b, int64_t *mistakes);
    double (*category)(const fastclf_model *model, Py_ssize_t column, const char *text);
} fastclf_functions;

static const fastclf_functions *fastclf = NULL;

/* Returns 0, or -1 with an exception if fastclf is not installed, or older than the version this was compiled with. */
static inline int fastclf_import(void)
{
    /* the import is needed because PyCapsule_Import imports no submodule */
    PyObject *module = PyImport_ImportModule("fastclf.capi");
    if (module == NULL) return -1;
    Py_DECREF(module);
    fastclf = (const fastclf_functions *)PyCapsule_Import("fastclf.capi.functions", 0);
    if (fastclf == NULL) return -1;
    if (fastclf->abi() >= FASTCLF_ABI) return 0;
    PyErr_Format(
        PyExc_ImportError,
        "compiled for version %d of fastclf's C interface; the fastclf installed has version %d: upgrade it",
        FASTCLF_ABI, fastclf->abi());
    fastclf = NULL;
    return -1;
}

#endif
