"""Fit a tree on the loans, look at it, and ask how good it is. Needs the extra [cli] (pyarrow)."""

from pathlib import Path

from pyarrow import csv

from treefold import DecisionTreeClassifier, export_text

options = csv.ConvertOptions(strings_can_be_null=True)
loans = csv.read_csv(Path(__file__).parent / "loans.csv", convert_options=options)
X, y = loans.drop_columns("default"), loans["default"].to_numpy()
train, test = slice(0, 3000), slice(3000, None)  # the file is in order of time: test on the future

tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=20)
tree.fit(X[train], y[train])
print(export_text(tree))
print(f"accuracy on later loans: {tree.score(X[test], y[test]):.3f}")
