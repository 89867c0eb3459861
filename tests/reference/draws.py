"""Draws are functions of a key: no state, so nothing depends on the order of execution."""

MASK = (1 << 64) - 1


def mix(z: int) -> int:
    """The finaliser of splitmix64."""
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def root_key(seed: int, tree: int) -> int:
    return mix(mix(seed) ^ tree)


def left_key(key: int) -> int:
    return mix((key + 1) & MASK)


def right_key(key: int) -> int:
    return mix((key + 2) & MASK)


def draw(key: int, column: int) -> int:
    return mix(key ^ mix(column + 1))


def draw_columns(key: int, varying: list[bool], max_features: int) -> list[int]:
    """The columns that a node looks at. `varying` says which are not constant in the node."""
    columns = list(range(len(varying)))
    if max_features < len(columns):
        columns.sort(key=lambda column: (draw(key, column), column))
    return sorted([column for column in columns if varying[column]][:max_features])
