"""The engine of evaluation: all candidates on all splits, from as few growths as there can be.

    splits                  which rows train and which are held out
    study                   what the caller passed
    refusal                 what shared growth cannot serve
    candidates              candidates that can share a tree: a setting
    dataset, pipelines      encoded rows from which trees grow, of one table or of one split
    fitted                  estimators as separate fits would have made them
    growing                 settings and splits become full trees
    judging, single_rows    what held-out rows say of each candidate; metrics of all rows together
    left_out, lazy_engine   answers without trees
    engine                  all of these, in the form of scikit-learn's own loop

    trials                  candidates that are tuned in fit, and which is chosen
    tuned_scores            their scores, and how those of splits become one
    stability, importance   what the trees of splits do in the place of each node, and for columns
    cross_fit, nested_fit   from candidates to the choice and its evidence; the same, nested
    fitting                 a fit of these estimators: a request, and what it finds out
    cross_validated         what both of them share

    record                  `Evaluation`: what cross-validation found out

`treefold.model_selection` stands on `engine`, `DecisionTree*CV`, the command line and the report
on `fitting`; both grow by `growing` and score by `judging`.
"""

from treefold.evaluation.record import POOLED_NOTE, Evaluation

__all__ = ["POOLED_NOTE", "Evaluation"]

Evaluation.__module__ = __name__  # which pickles name
