"""Columns as the caller holds them become an encoded table, and y a target, in this order.

columns, frames         one column of an array or of a data frame: numbers, or codes into labels
schema                  names, families and categories of the columns; matching them at predict
ingest, table           arrays, sparse matrices and frames become a source, then a `Table`
target                  y and weights
states                  what pickles and model files hold, checked before it is used
"""

__all__: list[str] = []
