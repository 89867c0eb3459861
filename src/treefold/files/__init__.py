"""Model files: any fitted model of the library, without pickle and without training rows.

    models, evidence, ensembles   an estimator <-> a state, checked
    codec                         a state <-> a document that JSON can hold, and arrays
    container                     both <-> the bytes of a safetensors file, with a checksum

The format is described in docs/file_format.md.
"""

import os
from typing import Any

from treefold.atomic import written_atomically
from treefold.exceptions import ModelFileError
from treefold.files.container import pack, read_file, unpack
from treefold.files.models import model_from_document, model_to_document

__all__ = ["load", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file.

    The file holds what the model needs to predict, its parameters and, of estimators that are
    cross-validated in fit, the scores. It holds no training rows and nothing about single ones.
    It is written under a temporary name and moved: if that fails, an old file stays as it was.

    Not in the file: `n_jobs` and `verbose`, which belong to the machine, and parameters that are
    functions or splitters; the loaded model says what they were, and `fit` asks for them anew. Of
    `evaluation_`, the held-out rows and their predictions.

    Parameters
    ----------
    model : DecisionTree..., DecisionTree...CV or Bagging...
        A fitted model. Of a search, `best_estimator_`.
    path : str or path
        The file to write.

    Raises
    ------
    ModelFileError
        If a class or a category is neither text nor a number, a boolean or a date.

    Examples
    --------
    >>> import os, tempfile
    >>> from treefold import DecisionTreeClassifier, load, save
    >>> path = os.path.join(tempfile.mkdtemp(), "model.treefold")
    >>> save(DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"]), path)
    >>> load(path).predict([[0.9]]).tolist()
    ['yes']
    """
    data = dump_bytes(model)
    with written_atomically(path) as file:
        file.write(data)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file that `save` has written.

    Everything in the file is checked before it is used, so that a damaged or a hostile file is
    refused. Nothing in it is run.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The fitted model, of the class that it had.

    Raises
    ------
    ModelFileError
        If the file does not hold a model, or one of a later format.

    Examples
    --------
    >>> import os, tempfile
    >>> from treefold import DecisionTreeRegressor, load, save
    >>> path = os.path.join(tempfile.mkdtemp(), "model.treefold")
    >>> save(DecisionTreeRegressor().fit([[0.0], [1.0]], [3.0, 5.0]), path)
    >>> load(path)
    DecisionTreeRegressor()
    """
    try:
        with open(path, "rb") as file:
            data = read_file(file)
        return load_bytes(data)
    except ModelFileError as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} cannot be used as a model: {error}. "
            "Save the model again, or take a copy that is whole."
        ) from None


def dump_bytes(model: Any) -> bytes:
    """Write a fitted model as the bytes of a file."""
    document, arrays = model_to_document(model)
    return pack(document, arrays)


def load_bytes(data: bytes) -> Any:
    """Read a model from the bytes of a file."""
    document, arrays = unpack(data)
    return model_from_document(document, arrays)
