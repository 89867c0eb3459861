"""Who gets which of the caller's `params`: the splitter, `fit`, the scorers. As in scikit-learn."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as default
from typing import Any

from sklearn import get_config
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics._scorer import _PassthroughScorer
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

__all__ = ["Routed", "refuses_to_score", "route"]


@dataclass(frozen=True, slots=True)
class Routed:
    """The parameters of each callee."""

    split: Mapping[str, Any]
    fit: Mapping[str, Any]
    score: Mapping[str, Any] = default(default_factory=dict)


def route(
    owner: str,
    params: Mapping[str, Any] | None,
    groups: Any,
    *,
    cv: Any,
    estimator: Any,
    scorer: Any,
) -> Routed:
    """Route the `params` of the function called `owner`."""
    params = {} if params is None else params
    if not get_config()["enable_metadata_routing"]:
        return Routed({"groups": groups}, dict(params))
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
    return Routed(routed.splitter.split, routed.estimator.fit, score)


def refuses_to_score(estimator: Any, scorer: Any, score_params: Mapping[str, Any]) -> bool:
    """Whether a pipeline's own `score` would refuse what is routed to it."""
    is_own = isinstance(scorer, _PassthroughScorer)
    if not (is_own and score_params and get_config()["enable_metadata_routing"]):
        return False
    try:
        process_routing(estimator, "score", **score_params)
    except (TypeError, ValueError):
        return True
    return False


def _from_fit(callee: str) -> MethodMapping:
    return MethodMapping().add(caller="fit", callee=callee)
