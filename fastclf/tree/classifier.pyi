# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class DecisionTreeClassifier:
    criterion: Any
    splitter: Any
    max_depth: Any
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: Any
    max_features: Any
    random_state: Any
    max_leaf_nodes: Any
    min_impurity_decrease: Any
    class_weight: Any
    cost_matrix: Any
    ccp_alpha: Any
    lam: Any
    ccp_risk: Any
    cv_loss: Any
    cv: Any
    one_se: Any
    monotonic_cst: Any
    categorical_features: Any
    n_jobs: Any
    verbose: Any
    callback: Any
    classes_: NDArray[Any] | list[NDArray[Any]]
    n_classes_: int | Sequence[Any]
    cost_matrix_: NDArray[Any]
    tree_: Any
    feature_importances_: NDArray[Any]
    cv_results_: Mapping[Any, Any]
    ccp_alpha_: float
    lam_: float
    categories_: list[NDArray[Any]] | None
    features_with_missing_: NDArray[Any] | Bool
    max_features_: int
    n_features_in_: int
    n_outputs_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, *, criterion: Literal['gini', 'entropy', 'log_loss', 'misclassification'] = 'gini', splitter: Literal['best', 'random'] = 'best', max_depth: SupportsIndex | None = None, min_samples_split: SupportsIndex | Float = 2, min_samples_leaf: SupportsIndex | Float = 1, min_weight_fraction_leaf: Float = 0.0, max_features: SupportsIndex | Float | Literal['sqrt'] | Literal['log2'] | None = None, random_state: SupportsIndex | np.random.RandomState | np.random.Generator | None = None, max_leaf_nodes: SupportsIndex | None = None, min_impurity_decrease: Float = 0.0, class_weight: Mapping[Any, Any] | Sequence[Mapping[Any, Any]] | Literal['balanced'] | None = None, cost_matrix: Rows | None = None, ccp_alpha: Float | Literal['cv'] = 0.0, lam: Float | None = None, ccp_risk: Literal['impurity', 'error'] = 'impurity', cv_loss: Literal['error', 'deviance'] = 'error', cv: SupportsIndex | Literal['loo'] = 10, one_se: Bool = False, monotonic_cst: Rows | Float | None = None, categorical_features: Literal['from_dtype'] | None | Rows | str | Bool = 'from_dtype', n_jobs: SupportsIndex | None = None, verbose: SupportsIndex = 0, callback: Callable[..., Any] | None = None) -> None: ...
    def apply(self, X: Rows, check_input: Bool = True) -> NDArray[Any]: ...
    def cost_complexity_pruning_path(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> Mapping[Any, Any]: ...
    def decision_path(self, X: Rows, check_input: Bool = True) -> Any: ...
    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None, check_input: Bool = True) -> Self: ...
    def get_depth(self) -> int: ...
    def get_n_leaves(self) -> int: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def predict(self, X: Rows, check_input: Bool = True) -> NDArray[Any]: ...
    def predict_log_proba(self, X: Rows) -> NDArray[Any]: ...
    def predict_proba(self, X: Rows, check_input: Bool = True) -> Any: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float: ...
    def set_params(self, **params: Any) -> Self: ...
