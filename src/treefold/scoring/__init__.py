"""Scores of many candidates at once, in this order.

metrics, scorers        the common metrics; which scorer is which
predictor, cells        any other scorer; `scoring=` as scikit-learn reads it
sums                    scores from sums over leaves
pooling                 how the scores of splits become one, and its standard error
"""

__all__: list[str] = []
