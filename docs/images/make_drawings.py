"""Make the drawings of the pages on how it works: python docs/images/make_drawings.py.

They are plain SVG on a light ground, so that they look the same in light and dark pages. What they
show is computed where it can be: orders, codes and counts are those of the small data drawn.
"""

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
BLUE, ORANGE, GREEN, GREY, INK, PAPER = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#8a8f98",
    "#1f2933",
    "#fbfbf8",
)
Parts = list[str]
Point = tuple[float, float]


def box(  # noqa: PLR0917 - where, how large, what, how
    x: float, y: float, width: float, height: float, text: str, colour: str = INK
) -> str:
    """A box with text in it, filled with a light shade of its colour."""
    lines = text.split("\n")
    shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" '
    parts = [
        f'{shape}fill="{PAPER}"/>{shape}fill="{colour}" fill-opacity="0.13" stroke="{colour}"/>'
    ]
    top = y + height / 2 - 8 * (len(lines) - 1) + 4.5
    for number, line in enumerate(lines):
        parts.append(write(x + width / 2, top + 16 * number, line))
    return "".join(parts)


def write(x: float, y: float, text: str, colour: str = INK, anchor: str = "middle") -> str:
    """One line of text."""
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'


def line(begin: Point, end: Point, colour: str = GREY, dashes: str = "") -> str:
    """A line."""
    style = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<path d="M{begin[0]:g} {begin[1]:g}L{end[0]:g} {end[1]:g}" '
        f'stroke="{colour}" stroke-width="1.5"{style} fill="none"/>'
    )


def arrow(begin: Point, end: Point, colour: str = GREY) -> str:
    """A line with a head."""
    return line(begin, end, colour).replace("/>", ' marker-end="url(#head)"/>')


def dot(at: Point, colour: str, text: str = "", radius: float = 13, dashes: str = "") -> str:
    """A node of a tree."""
    fill = "none" if dashes else colour
    style = f' stroke-dasharray="{dashes}"' if dashes else ""
    shape = f'<circle cx="{at[0]:g}" cy="{at[1]:g}" r="{radius:g}" '
    circle = f'{shape}fill="{PAPER}"/>{shape}fill="{fill}" fill-opacity="0.25" '
    circle += f'stroke="{colour}"{style}/>'
    return circle + (write(at[0], at[1] + 4.5, text) if text else "")


def cells(x: float, y: float, texts: Sequence[str], colours: Sequence[str], size: float) -> Parts:
    """A row of boxes."""
    return [
        box(x + size * place, y, size - 4, 26, text, colour)
        for place, (text, colour) in enumerate(zip(texts, colours, strict=True))
    ]


def page(title: str, width: int, height: int, parts: Parts) -> str:
    """A whole drawing, with its title for those who do not see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="sans-serif" font-size="13"><title>{escape(title)}</title>'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{GREY}"/></marker></defs>'
        f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>'
    )
    return head + "\n" + "\n".join(parts) + "\n</svg>\n"


# The drawings -----------------------------------------------------------------------------------


def draw_overview() -> str:
    """From a table to a tree with its evidence."""
    parts = [
        box(15, 60, 120, 60, "your table\nas it comes"),
        arrow((137, 90), (173, 90)),
        box(175, 60, 130, 60, "every column\nsorted once", GREEN),
        arrow((307, 90), (343, 90)),
        box(345, 20, 180, 140, "", BLUE),
        write(435, 38, "one family, grown together", BLUE),
        box(355, 48, 160, 28, "the tree of all rows", BLUE),
        box(355, 82, 160, 28, "the trees of the folds", ORANGE),
        box(355, 116, 160, 34, "every depth, size\nand pruning of each", GREEN),
        arrow((527, 90), (553, 90)),
        box(
            555,
            20,
            150,
            140,
            "the tree\n\nits held-out score\nhow steady its splits\nall sizes, one chosen",
        ),
    ]
    return page("A table becomes a family of trees, and one tree with evidence", 720, 180, parts)


def draw_single_sort() -> str:
    """Two sorted columns, and what a split of the one does to the other."""
    names = "ABCDEFGH"
    income = dict(zip(names, (52, 21, 75, 33, 60, 18, 44, 90), strict=True))
    age = dict(zip(names, (31, 64, 25, 47, 58, 29, 70, 38), strict=True))
    by_income, by_age = sorted(names, key=income.__getitem__), sorted(names, key=age.__getitem__)
    left = set(by_income[:4])

    def colours(order: Sequence[str]) -> list[str]:
        return [BLUE if name in left else ORANGE for name in order]

    def show(order: Sequence[str], column: dict[str, int]) -> list[str]:
        return [f"{name} {column[name]}" for name in order]

    parts = [write(20, 42, "income, sorted once", anchor="start")]
    parts += cells(190, 25, show(by_income, income), colours(by_income), 62)
    cut = 190 + 62 * 4 - 2
    middle = (income[by_income[3]] + income[by_income[4]]) / 2
    parts += [line((cut, 15), (cut, 62), INK, "4 3"), write(cut, 78, f"income <= {middle:g}")]
    parts.append(write(20, 122, "age, sorted once", anchor="start"))
    parts += cells(190, 105, show(by_age, age), colours(by_age), 62)
    parts.append(write(20, 202, "one pass, in order:", anchor="start"))
    parts.append(write(20, 219, "both sides stay sorted", anchor="start"))
    goes_left = [name for name in by_age if name in left]
    goes_right = [name for name in by_age if name not in left]
    parts += cells(180, 190, show(goes_left, age), colours(goes_left), 62)
    parts += cells(448, 190, show(goes_right, age), colours(goes_right), 62)
    ends = {name: 180 + 62 * place for place, name in enumerate(goes_left)}
    ends |= {name: 448 + 62 * place for place, name in enumerate(goes_right)}
    for place, name in enumerate(by_age):
        colour = BLUE if name in left else ORANGE
        parts.append(line((190 + 62 * place + 29, 133), (ends[name] + 29, 188), colour))
    return page("A split divides sorted columns without sorting again", 720, 235, parts)


def draw_sparse_columns() -> str:
    """A column of mostly zeros, and the three sums of a node."""
    values = [0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 3, 0, 0, 7, 0]
    texts = [str(value) for value in values]
    parts = [write(20, 32, "16 rows of one column", anchor="start")]
    parts += cells(20, 42, texts, [ORANGE if value else GREY for value in values], 42)
    kept = [(row, value) for row, value in enumerate(values) if value]
    parts.append(
        write(20, 112, f"what is kept: {len(kept)} pairs of row and value", anchor="start")
    )
    pairs = [f"row {row}: {value}" for row, value in kept]
    parts += cells(20, 122, pairs, [ORANGE] * len(kept), 92)
    n_zeros = len(values) - len(kept)
    parts += [
        box(20, 175, 150, 44, "the node: 16 rows\n(added up already)"),
        write(192, 202, "-"),
        box(214, 175, 150, 44, f"its non-zeros: {len(kept)}\n(visited)", ORANGE),
        write(386, 202, "="),
        box(408, 175, 170, 44, f"its zeros: {n_zeros}\n(never visited)", GREY),
    ]
    return page("A sparse column costs its non-zeros", 720, 235, parts)


def draw_families() -> str:
    """Sums per fold, the members' sums by subtraction, and a fork."""
    parts = [write(20, 30, "one node, added up once per fold", anchor="start")]
    counts = {"fold 1": (20, 10), "fold 2": (18, 12), "fold 3": (19, 11)}
    for place, (fold, (no, yes)) in enumerate(counts.items()):
        parts.append(box(20 + 100 * place, 40, 92, 40, f"{fold}\n{no} no, {yes} yes", GREEN))
    no, yes = (sum(count[side] for count in counts.values()) for side in (0, 1))
    parts.append(write(20, 112, "each tree's own sums, by subtraction", anchor="start"))
    members = [("all rows", no, yes, INK)]
    for fold, (its_no, its_yes) in counts.items():
        members.append((f"without {fold}", no - its_no, yes - its_yes, BLUE))
    for place, (name, its_no, its_yes, colour) in enumerate(members):
        text = f"{name}: {its_no} no, {its_yes} yes"
        parts.append(box(20, 122 + 30 * place, 230, 26, text, colour))
    parts += [
        write(525, 30, "together as long as they choose the same"),
        line((525, 64), (445, 120)),
        line((525, 64), (605, 120)),
        box(450, 44, 150, 30, "all 4: late <= 1.5", GREEN),
        box(365, 110, 160, 30, "all 4: burden <= 25", GREEN),
        line((605, 120), (560, 200)),
        line((605, 120), (650, 200)),
        dot((605, 124), ORANGE, "fork", 22),
        box(480, 190, 120, 40, "3 of them:\nlate <= 2.5", BLUE),
        box(608, 190, 100, 40, "fold 2:\nage <= 30", ORANGE),
    ]
    return page("Trees of all folds share sums and part where they disagree", 720, 255, parts)


def draw_tree(
    spots: dict[str, Point],
    edges: Sequence[tuple[str, str]],
    colours: dict[str, str],
    hidden: Sequence[str] = (),
) -> Parts:
    """A tree of dots; hidden ones are dashed."""
    parts = []
    for above, below in edges:
        dashes = "4 3" if below in hidden else ""
        parts.append(line(spots[above], spots[below], GREY, dashes))
    for name, at in spots.items():
        parts.append(dot(at, colours.get(name, GREY), dashes="4 3" if name in hidden else ""))
    return parts


def place_full_tree(x: float, y: float, width: float, depth: int) -> dict[str, Point]:
    """Where the nodes of a full tree stand; a name is the way from the root."""
    spots = {}
    for level in range(depth + 1):
        for place in range(2**level):
            name = "r" + (format(place, f"0{level}b") if level else "")
            spots[name] = (x + width * (place + 0.5) / 2**level, y + 50 * level)
    return spots


def draw_paths() -> str:
    """One full tree, and smaller ones that are read off it."""
    spots = place_full_tree(20, 40, 400, 3)
    edges = [(name[:-1], name) for name in spots if len(name) > 1]
    kept = {"r", "r0", "r1", "r00", "r01"}
    colours = {name: BLUE if name in kept else GREY for name in spots}
    parts = draw_tree(spots, edges, colours)
    for level, text in ((1, "max_depth=1"), (2, "max_depth=2")):
        at = 40 + 50 * level + 25
        parts += [line((20, at), (425, at), ORANGE, "6 4")]
        parts.append(write(430, at + 4, text, ORANGE, "start"))
    parts.append(write(430, 50, "ccp_alpha=0.01 keeps the blue ones", BLUE, "start"))
    steps = [
        "grow one full tree per fold",
        "1 filter by depth, size, decrease",
        "2 best first, for max_leaf_nodes",
        "3 prune, for ccp_alpha",
        "score every size on held-out rows",
    ]
    for number, text in enumerate(steps):
        parts.append(write(430, 196 + 18 * number, text, anchor="start"))
    return page("All depths, sizes and prunings are read off one tree", 720, 285, parts)


def draw_leave_one_out() -> str:
    """Rows that are left out one at a time, together as long as their trees agree."""
    spots: dict[str, Point] = {
        "root": (250, 50),
        "left": (140, 130),
        "right": (360, 130),
        "lone": (520, 130),
        "a": (80, 210),
        "b": (200, 210),
        "c": (300, 210),
        "d": (420, 210),
        "e": (520, 210),
    }
    edges = [
        ("root", "left"),
        ("root", "right"),
        ("left", "a"),
        ("left", "b"),
        ("right", "c"),
        ("right", "d"),
        ("lone", "e"),
    ]
    colours = dict.fromkeys(spots, BLUE) | {"lone": ORANGE, "e": ORANGE}
    parts = [arrow((262, 56), (508, 124), ORANGE), *draw_tree(spots, edges, colours)]
    parts += [
        write(236, 34, "1,000 rows, each with its own tree", anchor="start"),
        write(20, 126, "620 rows:", anchor="start"),
        write(20, 142, "the same cut", anchor="start"),
        write(380, 126, "379 rows:", anchor="start"),
        write(380, 142, "the same cut", anchor="start"),
        write(540, 126, "1 row: without it", ORANGE, "start"),
        write(540, 142, "another cut wins", ORANGE, "start"),
        write(540, 206, "it goes on alone,", ORANGE, "start"),
        write(540, 222, "down one path", ORANGE, "start"),
    ]
    return page("Rows that are left out go on together while their trees agree", 720, 240, parts)


def draw_nested() -> str:
    """Training sets of nested folds: without i and j serves both."""
    n_folds, size = 5, 36
    parts = [write(20, 28, "left out: the fold that is scored (down)", anchor="start")]
    parts.append(write(20, 44, "and the one that helps to choose (across)", anchor="start"))
    for outer in range(n_folds):
        parts.append(write(48, 92 + size * outer, str(outer + 1)))
        parts.append(write(82 + size * outer, 66, str(outer + 1)))
        for inner in range(n_folds):
            colour = BLUE if outer == inner else ORANGE if inner > outer else GREY
            low, high = sorted((outer + 1, inner + 1))
            text = str(low) if low == high else f"{low},{high}"
            parts.append(
                box(64 + size * inner, 74 + size * outer, size - 4, size - 8, text, colour)
            )
    n_pairs = n_folds * (n_folds - 1) // 2
    parts += [
        box(330, 74, 370, 30, "1 tree of all rows: the one that you get"),
        box(330, 112, 370, 30, f"{n_folds} trees without one fold: plain cross-validation", BLUE),
        box(330, 150, 370, 30, f"{n_pairs} trees without two folds: each serves twice", ORANGE),
        box(330, 188, 370, 30, f"{n_pairs} that need not be grown: they are the same trees", GREY),
        write(
            515, 244, f"{1 + n_folds + n_pairs} trees in one growth, instead of {1 + n_folds**2}"
        ),
    ]
    return page("Nested folds share their training sets", 720, 265, parts)


def draw_demand() -> str:
    """What grows if two rows ask."""
    parts = []
    asked = {"r", "r0", "r00", "r001", "r01", "r010"}
    for x, title, grown in ((10, "eager: everything grows", None), (370, "two rows ask", asked)):
        spots = place_full_tree(x, 60, 340, 3)
        edges = [(name[:-1], name) for name in spots if len(name) > 1]
        hidden = [] if grown is None else [name for name in spots if name not in grown]
        colours = {name: GREY if name in hidden else BLUE for name in spots}
        n_grown = len(spots) - len(hidden)
        parts.append(write(x + 170, 32, f"{title}: {n_grown} nodes"))
        parts += draw_tree(spots, edges, colours, hidden)
    for name in ("r001", "r010"):
        across, down = place_full_tree(370, 60, 340, 3)[name]
        parts.append(write(across, down + 30, "?", ORANGE))
    return page("A node grows only if somebody asks for an answer in it", 720, 255, parts)


DRAWINGS: dict[str, Callable[[], str]] = {
    "overview": draw_overview,
    "single_sort": draw_single_sort,
    "sparse_columns": draw_sparse_columns,
    "families": draw_families,
    "paths": draw_paths,
    "leave_one_out": draw_leave_one_out,
    "nested": draw_nested,
    "demand": draw_demand,
}

if __name__ == "__main__":
    for drawing, draw in DRAWINGS.items():
        (HERE / f"{drawing}.svg").write_text(draw(), encoding="utf-8")
