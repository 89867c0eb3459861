"""Writes model files and a pickle of the current formats, and what they predict, to tests/data.

Run once for each new format; the files of earlier formats are never written again.
"""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd

from treefold import BaggingClassifier, DecisionTreeClassifierCV, DecisionTreeRegressor, save
from treefold.files.container import FORMAT
from treefold.model.tree import _FORMAT

DATA = Path(__file__).parent / "data"


def main() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.integers(18, 80, 300) / 2, "town": rng.choice(["Bonn", "Köln", "Ulm"], 300)}
    )
    frame.loc[rng.random(300) < 0.1, "age"] = np.nan
    frame.loc[rng.random(300) < 0.1, "town"] = None
    score = frame["age"].fillna(30) + 20 * (frame["town"] == "Ulm") + rng.normal(size=300)
    bags = BaggingClassifier(n_estimators=3, max_depth=3, random_state=0)
    models = {
        "bagging": bags.fit(frame, np.where(score > 30, "yes", "no")),
        "classifier_cv": DecisionTreeClassifierCV().fit(frame, np.where(score > 30, "yes", "no")),
        "regressor": DecisionTreeRegressor(max_leaf_nodes=12).fit(frame, score),
    }
    rows = pd.DataFrame({"age": [*frame["age"][:40], 20.25], "town": [*frame["town"][:40], "Rom"]})
    for name, model in models.items():
        path = DATA / f"{name}_format_{FORMAT}.treefold"
        save(model, path)
        if name == "regressor":
            state = DATA / f"{name}_state_{_FORMAT}.pkl"
            state.write_bytes(pickle.dumps(model, protocol=4))
        answers = rows.assign(answer=[str(answer) for answer in model.predict(rows)])
        answers.to_csv(DATA / f"{name}.csv", index=False)


if __name__ == "__main__":
    main()
