"""What treefold raises, and what it warns of.

    ValueError
    ├── InputError                X, y or the weights cannot be used
    │   ├── InputTypeError        ... because of their type (a TypeError too)
    │   └── ColumnMismatchError   the columns are not those of the fit
    ├── ParameterError            an argument has no meaning (a TypeError too)
    ├── ConversionError           another language cannot say what our tree says
    └── ModelFileError            a file is no model, or a model cannot be written to one
    UserWarning
    ├── CardinalityWarning        a column has few rows per category
    └── PooledScoreWarning        a score is that of all held-out rows, not of single splits
                                  (an UndefinedMetricWarning of scikit-learn's too)

An error says what was wrong, where, what was seen and what to do. Nothing has changed when it is
raised: a fitted estimator stays as it was.
"""

import sys
import warnings

from sklearn.exceptions import UndefinedMetricWarning

__all__ = [
    "CardinalityWarning",
    "ColumnMismatchError",
    "ConversionError",
    "InputError",
    "InputTypeError",
    "ModelFileError",
    "ParameterError",
    "PooledScoreWarning",
    "warn",
]


class InputError(ValueError):
    """The data, the target or the weights cannot be used."""


class InputTypeError(InputError, TypeError):
    """The data, the target or the weights have a type that cannot be used."""


class ColumnMismatchError(InputError):
    """The columns are not the columns that the tree was fitted on."""


class ParameterError(ValueError, TypeError):
    """An argument has a value that has no meaning."""


class ConversionError(ValueError):
    """The tree cannot be expressed in another library's terms."""


class ModelFileError(ValueError):
    """A file does not hold a model that can be used, or a model cannot be written to a file."""


class CardinalityWarning(UserWarning):
    """A column has so many categories that each is known from a few rows only."""


class PooledScoreWarning(UndefinedMetricWarning):  # type: ignore[misc]
    """Single rows have no such score, so that of all held-out rows together is given."""


_NOT_THE_USER = ("treefold.", "sklearn.")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's own code that led here, however deep that is."""
    level = 1
    frame = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_NOT_THE_USER):
        level += 1
        frame = frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level)
