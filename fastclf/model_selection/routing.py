"""Routing of arguments by scikit-learn's metadata routing, if the user has enabled it."""

import sys
from collections.abc import Mapping
from dataclasses import replace

from .._validation import described


def route(request, estimator, owner, fitting=("fit",)):
    """The Request with its `params` distributed to the fit, the splitter and the scorer that request them.

    `owner` is the called function, and `fitting` are the methods of the estimator that it calls. Without metadata
    routing all `params` are arguments of the fit, and the Request is unchanged.
    """
    if request.params is not None and not isinstance(request.params, Mapping):
        raise TypeError(f"params is {described(request.params)}; a dict of the fit's further arguments is wanted")
    sklearn = sys.modules.get("sklearn")
    if sklearn is None or not sklearn.get_config().get("enable_metadata_routing"):
        return request
    # this import gives scikit-learn's own function, even if `patch_sklearn` has replaced public names
    from sklearn.metrics._scorer import check_scoring
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

    if request.groups is not None:
        raise ValueError(
            "`groups` can only be passed if metadata routing is not enabled via"
            " `sklearn.set_config(enable_metadata_routing=True)`. When routing is enabled, pass `groups` alongside"
            " other metadata via the `params` argument instead."
        )
    mapping = MethodMapping()
    for method in fitting:
        mapping.add(caller="fit", callee=method)
    router = MetadataRouter(owner=owner).add(estimator=estimator, method_mapping=mapping)
    splits, scores = hasattr(request.cv, "get_metadata_routing"), owner != "cross_val_predict"
    scoring = check_scoring(estimator, request.scoring) if scores else None
    if splits:
        router.add(splitter=request.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    if scores:
        router.add(scorer=scoring, method_mapping=MethodMapping().add(caller="fit", callee="score"))
    if not request.params:
        return request
    routed = process_routing(router, "fit", **request.params)
    cv = list(request.cv.split(request.X, request.y, **routed.splitter.split)) if splits else request.cv
    return replace(
        request,
        cv=cv,
        scoring=scoring,
        params=dict(routed.estimator[fitting[-1]]),
        score_params=dict(routed.scorer.score) if scores else None,
    )
