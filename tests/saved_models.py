"""One fitted model of every kind, and rows that try all of its splits: for files and for SQL."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from treefold import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeClassifierCV,
    DecisionTreeRegressor,
    DecisionTreeRegressorCV,
)


class Saved(NamedTuple):
    model: Any
    rows: Any


def make_frame(n_rows: int, seed: int) -> pd.DataFrame:
    """Numbers of all widths, text, categories of numbers and of booleans, dates, missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "plain": rng.normal(size=n_rows),
            "narrow": rng.normal(size=n_rows).astype(np.float32),
            "whole": rng.integers(-5, 5, n_rows),
            'na"me; --': rng.choice(["it's", 'a "b"', "ä\\n%_", "", "e"], n_rows),
            "size": pd.Categorical(rng.choice([1, 2, 3], n_rows), categories=[3, 2, 1]),
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, n_rows), "D"),
            "time": pd.to_datetime(rng.integers(0, 10**15, n_rows), unit="us"),
        }
    )
    for name in ("plain", 'na"me; --', "size", "day"):
        frame.loc[rng.random(n_rows) < 0.15, name] = None
    return frame


def make_score(frame: pd.DataFrame) -> np.ndarray:
    """A target that every column has a part in."""
    text = frame['na"me; --'].map({"it's": 1.0, 'a "b"': -1.0, "": 2.0}).fillna(0.0)
    size = frame["size"].astype("float64").fillna(-1.0)
    day = (frame["day"] - pd.Timestamp("2020-02-10")).dt.days.abs().fillna(90) / 30
    time = (frame["time"].astype("int64") // 10**13 % 7).to_numpy()
    numbers = frame["plain"].fillna(1.5) + np.sin(4 * frame["narrow"]) + frame["whole"] % 3
    return (numbers + text + size + day + time / 4).to_numpy()


@cache
def make_saved() -> dict[str, Saved]:
    """All models by name."""
    frame, rows = make_frame(400, 0), make_frame(600, 1)
    rows.loc[rows.index % 11 == 0, 'na"me; --'] = "unseen"
    score = make_score(frame)
    three = np.array(["low", "mid", "o'hara"])[np.digitize(score, np.quantile(score, [0.3, 0.6]))]
    numbers = frame[["plain", "narrow", "whole"]].to_numpy(dtype=float)
    plain_rows = rows[["plain", "narrow", "whole"]].to_numpy(dtype=float)
    codes = numbers.copy()
    codes[:, 2] += 5
    by_code = DecisionTreeRegressor(categorical_features=[False, False, True], max_depth=6)
    weighted = DecisionTreeClassifier(class_weight={0: 1.0, 1: 3.5}, max_depth=5, random_state=3)
    full = DecisionTreeClassifierCV(max_depth=[2, 4, None], scoring="accuracy", cv=3)
    by_split = DecisionTreeRegressorCV(cv=KFold(3, shuffle=True, random_state=0))
    return {
        "classes": Saved(DecisionTreeClassifier(max_leaf_nodes=40).fit(frame, three), rows),
        "numbers": Saved(DecisionTreeRegressor(min_samples_leaf=5).fit(frame, score), rows),
        "plain": Saved(DecisionTreeRegressor(max_leaf_nodes=60).fit(numbers, score), plain_rows),
        "codes": Saved(by_code.fit(codes, score), plain_rows),
        "weighted": Saved(weighted.fit(numbers, (score > 2) * 1, score**2), plain_rows),
        "booleans": Saved(DecisionTreeClassifier(max_depth=5).fit(numbers, score > 2), plain_rows),
        "one leaf": Saved(DecisionTreeClassifier().fit(numbers, np.zeros(400)), plain_rows),
        "classes CV": Saved(full.fit(frame, three), rows),
        "numbers CV": Saved(by_split.fit(frame, score), rows),
    }


@cache
def make_ensembles() -> dict[str, Saved]:
    """All ensembles by name."""
    frame, rows = make_frame(400, 0), make_frame(600, 1)
    score = make_score(frame)
    three = np.array(["low", "mid", "o'hara"])[np.digitize(score, np.quantile(score, [0.3, 0.6]))]
    hard = BaggingClassifier(
        n_estimators=3, voting="hard", max_depth=4, class_weight="balanced", random_state=1
    )
    random = np.random.RandomState(2)
    drawn = BaggingRegressor(n_estimators=2, max_features=2, max_depth=4, random_state=random)
    columns = ["plain", "narrow", "whole"]
    numbers, plain_rows = (each[columns].to_numpy(dtype=float) for each in (frame, rows))
    return {
        "classes, bags": Saved(hard.fit(frame, three), rows),
        "numbers, bags": Saved(drawn.fit(numbers, score), plain_rows),
    }
