"""Who gets which of the caller's `params`: the splitter, `fit`, the scorers. As in scikit-learn."""

from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

__all__ = ["route"]


def route(
    owner: str,
    params: Mapping[str, Any] | None,
    groups: Any,
    *,
    cv: Any,
    estimator: Any,
    scorer: Any,
) -> tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]:
    """Route the `params` of the function called `owner`: to the splitter, `fit`, the scorers."""
    params = {} if params is None else params
    if not get_config()["enable_metadata_routing"]:
        return {"groups": groups}, dict(params), {}
    if groups is not None:
        raise ValueError(
            "`groups` can only be passed if metadata routing is not enabled via "
            "`sklearn.set_config(enable_metadata_routing=True)`. When routing is enabled, pass "
            "`groups` alongside other metadata via the `params` argument instead."
        )
    router = MetadataRouter(owner=owner)
    router.add(splitter=cv, method_mapping=_from_fit("split"))
    router.add(estimator=estimator, method_mapping=_from_fit("fit"))
    if scorer is not None:
        router.add(scorer=scorer, method_mapping=_from_fit("score"))
    try:
        routed = process_routing(router, "fit", **params)
    except UnsetMetadataPassedError as error:
        raise UnsetMetadataPassedError(  # nobody called a method "fit" of this function
            message=str(error).replace(f"{owner}.fit", owner),
            unrequested_params=error.unrequested_params,
            routed_params=error.routed_params,
        ) from None
    score = {} if scorer is None else routed.scorer.score
    return routed.splitter.split, routed.estimator.fit, score


def _from_fit(callee: str) -> MethodMapping:
    return MethodMapping().add(caller="fit", callee=callee)
