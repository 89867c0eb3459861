"""Trees as JSON, as DOT and as SVG."""

import io
import json
import math
import re
import shutil
import subprocess
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
import resvg_py
from matplotlib import pyplot as plt
from numpy.testing import assert_array_equal
from saved_models import make_saved
from sklearn.datasets import load_iris

from treefold import (
    DecisionTreeClassifier,
    DecisionTreeClassifierCV,
    DecisionTreeRegressor,
    ParameterError,
    export_dot,
    export_json,
    export_sql,
    export_svg,
    export_text,
)

IRIS = load_iris()
WRITERS = [export_dot, export_json, export_sql, export_svg, export_text]
SVG = "{http://www.w3.org/2000/svg}"
ODD = 'a"\\b<&>\n\x01é]]>'


def walk_json(document: dict[str, Any], row: list[Any]) -> int:
    """Find the leaf of a row by nothing but what the JSON says."""
    nodes = {node["node"]: node for node in document["nodes"]}
    node = nodes[0]
    while "split" in node:
        split = node["split"]
        value = row[split["feature"]]
        side = split["missing"]
        if split["kind"] == "category" and value is not None:
            side = next((s for s in ("left", "right") if value in split[s]), split["unseen"])
        elif value is not None:
            goes_left = split["kind"] == "present" or value <= split["threshold"]
            side = "left" if goes_left else "right"
        node = nodes[node[side]]
    return int(node["node"])


def list_rows(rows: Any) -> list[list[Any]]:
    if not isinstance(rows, pd.DataFrame):
        return [[None if np.isnan(value) else value for value in row] for row in rows.tolist()]
    rows = rows.copy()
    for name in ("day", "time"):
        days = (rows[name] - pd.Timestamp(0)).astype("m8[us]").astype("int64") / 86_400_000_000
        rows[name] = days.where(rows[name].notna())
    rows = rows.astype(object)
    return rows.where(rows.notna(), None).to_numpy().tolist()


@pytest.mark.parametrize("name", list(make_saved()))
def test_json_says_all_that_predicting_needs(name: str) -> None:
    model, rows = make_saved()[name]
    document = json.loads(export_json(model))
    rows = rows[:150]
    leaves = [walk_json(document, row) for row in list_rows(rows)]
    assert_array_equal(model.apply(rows), leaves)
    value = [document["nodes"][leaf]["value"] for leaf in leaves]
    if document["classes"] is None:
        assert_array_equal(model.predict(rows), value)
    else:
        assert_array_equal(model.predict_proba(rows), value)
        chosen = [document["classes"][document["nodes"][leaf]["class"]] for leaf in leaves]
        assert_array_equal(model.predict(rows), chosen)


def make_town_tree() -> DecisionTreeClassifier:
    """Ulm and Kiel part from the others first; those part again, and Ulm from Kiel."""
    towns = [town for town in ("Bonn", "Kiel", "Trier", "Ulm") for _ in range(20)]
    y = [{"Bonn": "a", "Kiel": "b", "Trier": "c", "Ulm": "d"}[town] for town in towns]
    tree = DecisionTreeClassifier().fit(pd.DataFrame({"town": towns}), y)
    assert tree.get_n_leaves() == 4
    return tree


def test_json_lists_only_categories_that_come_to_a_node() -> None:
    nodes = json.loads(export_json(make_town_tree()))["nodes"]
    come = {0: {"Bonn", "Kiel", "Trier", "Ulm"}}
    for node in nodes:
        if "split" not in node:
            continue
        split = node["split"]
        sides = {side: set(split[side]) for side in ("left", "right")}
        assert sides["left"] | sides["right"] == come[node["node"]]
        assert all(sides.values())
        come |= {node[side]: labels for side, labels in sides.items()}


def test_sql_asks_only_of_categories_that_come_to_a_node() -> None:
    text = export_sql(make_town_tree())
    assert max(text.count(town) for town in ("Bonn", "Kiel", "Trier", "Ulm")) <= 2, text


def test_json_has_names_and_rows() -> None:
    model = DecisionTreeClassifier(max_depth=1).fit(IRIS.data, IRIS.target)
    text = export_json(model, feature_names=list("abcd"), class_names=list("xyz"), indent=2)
    document = json.loads(text)
    assert document["features"] == list("abcd")
    assert document["classes"] == list("xyz")
    assert [node["samples"] for node in document["nodes"]] == [150, 50, 100]
    assert len(text.splitlines()) > 20


def test_dot_has_a_box_per_node_and_an_edge_per_child() -> None:
    model = DecisionTreeClassifier().fit(IRIS.data, IRIS.target)
    lines = export_dot(model, filled=True, rounded=True).splitlines()
    boxes = [
        line for line in lines if re.match(r'  \d+ \[label="[^"]+", fillcolor="#\w{6}"\];', line)
    ]
    edges = [re.match(r"  (\d+) -> (\d+) ", line) for line in lines]
    children = {(int(edge[1]), int(edge[2])) for edge in edges if edge}
    assert len(boxes) == model.tree_.node_count
    tree = model.tree_
    splits = np.flatnonzero(tree.feature >= 0)
    expected = {
        (int(n), int(c[n])) for c in (tree.children_left, tree.children_right) for n in splits
    }
    assert children == expected
    assert 'style="filled, rounded"' in lines[1]
    cut = export_dot(model, max_depth=1, impurity=False)
    assert cut.count("(...)") == 2
    assert "impurity" not in cut


def test_dot_escapes_names() -> None:
    model = DecisionTreeClassifier().fit(pd.DataFrame({ODD: [1.0, 2.0]}), [ODD, "x"])
    for line in export_dot(model).splitlines()[2:-1]:
        assert re.fullmatch(r'  \d+( -> \d+)? \[label="(?:[^"\\]|\\["\\n])*"\];', line), line


needs_graphviz = pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")


def draw_by_graphviz(text: str) -> dict[str, Any]:
    """Let Graphviz lay the picture out; it has nothing to say against it."""
    done = subprocess.run(["dot", "-Tjson"], input=text.encode(), capture_output=True, check=True)
    assert done.stderr == b""
    return json.loads(done.stdout)


@needs_graphviz
@pytest.mark.parametrize("name", list(make_saved()))
def test_graphviz_draws_every_tree(name: str) -> None:
    model, _ = make_saved()[name]
    drawn = draw_by_graphviz(export_dot(model, filled=True, rounded=True))
    tree = model.tree_
    assert len(drawn["objects"]) == tree.node_count
    splits = np.flatnonzero(tree.feature >= 0).tolist()
    sides = (tree.children_left, tree.children_right)
    expected = {(str(node), str(side[node])) for node in splits for side in sides}
    names = [box["name"] for box in drawn["objects"]]
    edges = drawn.get("edges", [])
    assert {(names[edge["tail"]], names[edge["head"]]) for edge in edges} == expected


@needs_graphviz
def test_graphviz_reads_any_name() -> None:
    model = DecisionTreeClassifier().fit(pd.DataFrame({ODD: [1.0, 2.0]}), [ODD, "x"])
    labels = [box["label"] for box in draw_by_graphviz(export_dot(model))["objects"]]
    assert labels[0].startswith('a"\\\\b<&>  é]]> <= 1.500')
    assert labels[2].endswith("class = x")


def test_svg_is_drawn_as_it_says() -> None:
    model = DecisionTreeClassifier().fit(IRIS.data, IRIS.target)
    text = export_svg(model)
    image = plt.imread(io.BytesIO(resvg_py.svg_to_bytes(svg_string=text)))
    root = ET.fromstring(text)
    size = [math.ceil(float(root.attrib[key])) for key in ("height", "width")]
    assert list(image.shape) == [*size, 4]
    for rect in root.iter(f"{SVG}rect"):
        middle = float(rect.attrib["y"]) + float(rect.attrib["height"]) / 2
        inside = image[round(middle), round(float(rect.attrib["x"])) + 3]
        colour = [int(rect.attrib["fill"][place : place + 2], 16) for place in (1, 3, 5)]
        assert np.round(inside * 255).tolist() == [*colour, 255]


def read_svg(text: str) -> tuple[list[dict[str, float]], list[str]]:
    root = ET.fromstring(text)
    boxes = [
        {key: float(rect.attrib[key]) for key in ("x", "y", "width", "height")}
        for rect in root.iter(f"{SVG}rect")
    ]
    width, height = (float(root.attrib[key]) for key in ("width", "height"))
    for box in boxes:
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
    return boxes, [text.text or "" for text in root.iter(f"{SVG}text")]


def test_svg_has_a_box_per_node_and_none_covers_another() -> None:
    model = DecisionTreeClassifier().fit(IRIS.data, IRIS.target)
    boxes, texts = read_svg(export_svg(model, feature_names=list("abcd")))
    assert len(boxes) == model.tree_.node_count
    assert "samples = 150" in texts
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            is_apart = (
                abs(one["x"] - other["x"]) > one["width"]
                or one["y"] + one["height"] < other["y"]
                or other["y"] + other["height"] < one["y"]
            )
            assert is_apart
    boxes, texts = read_svg(export_svg(model, max_depth=1, filled=False, impurity=False))
    assert len(boxes) == 5
    assert texts.count("(...)") == 2


def test_svg_is_xml_whatever_the_names_are() -> None:
    model = DecisionTreeClassifier().fit(pd.DataFrame({ODD: [1.0, 2.0]}), [ODD, "x"])
    _, texts = read_svg(export_svg(model))
    assert texts[0] == 'a"\\b<&>  é]]> <= 1.500'


@pytest.mark.parametrize("write", [export_dot, export_svg])
def test_pictures_show_how_steady_splits_are(write: Any) -> None:
    model = DecisionTreeClassifierCV().fit(IRIS.data, IRIS.target)
    text = write(model, show_stability=True)
    assert "5 of 5 folds" in text
    assert "Folds overlap" in text
    with pytest.raises(ParameterError, match="has no stability_"):
        write(DecisionTreeClassifier().fit(IRIS.data, IRIS.target), show_stability=True)


@pytest.mark.parametrize("write", WRITERS)
def test_a_single_leaf_can_be_written(write: Any) -> None:
    model = DecisionTreeRegressor().fit([[1.0], [2.0]], [7.5, 7.5])
    assert "7.5" in write(model)


@pytest.mark.parametrize("write", WRITERS)
def test_only_fitted_trees_are_written(write: Any) -> None:
    with pytest.raises(ValueError, match="not fitted yet"):
        write(DecisionTreeClassifier())
    with pytest.raises(ParameterError, match="must be a treefold DecisionTree"):
        write(object())


@pytest.mark.parametrize("write", [export_dot, export_svg])
def test_depths_and_digits_are_checked(write: Any) -> None:
    model = DecisionTreeClassifier().fit(IRIS.data, IRIS.target)
    with pytest.raises(ParameterError, match="max_depth must be an int of at least 0"):
        write(model, max_depth=-1)
    with pytest.raises(ParameterError, match="precision must be an int of at least 0"):
        write(model, precision=0.5)
