"""Which localization metric should I use? Advice for boxes, contours, masks and points, from the published study.

Scores and missing properties are those of tables 3 to 8 of the comparative study of 2010, as published.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, get_args

from verite.model.results import to_json
from verite.model.tables import Display, Part, Table
from verite.reproductions.comparison import JEI_TABLES, jei_scores, jei_table
from verite.studies.rows import JEI_2010

Kind = Literal["box", "contour", "mask", "point"]
KINDS = get_args(Kind)
MOST = 6
# What the papers and the study here conclude; names of metrics are those of the catalogue.
SENTENCES: dict[str, tuple[str, ...]] = {
    "box": (
        "Use a region-based metric on the boxes: iou (pascal), gce or lce; all score higher than metrics of boxes.",
        "Where pixels cost too much, use the three Robin metrics jointly: robin (their mean) or robin(variant='max'). "
        "Alone each ignores an alteration: robin_loc scale, robin_com and robin_cor translation.",
        "centre_distance for trackers and points; it ignores size and shape.",
    ),
    "contour": (
        "figure_of_merit, mean_distance and baddeley have the most properties of the contour-based metrics.",
        "hausdorff is decided by a single pixel; hausdorff(quantile=0.95) is not.",
        "Metrics that count coinciding contour pixels (rms, lq, kullback, jensen) judge a shift of 1 pixel like one of "
        "20: do not use them for localization. If you can fill the contours, prefer masks.",
    ),
    "mask": (
        "iou (pascal), vinet, gce and lce; the paper advises gce and lce, whose reading decides who is first.",
        "hen1 compares areas alone; pixel_precision and pixel_recall forgive one kind of error each.",
        "Report a contour distance beside it where edges matter: iou hardly sees thin errors.",
    ),
    "point": (
        "centre_distance, the distance of two points; iou of points is 0 or undefined.",
        "Give it a scale: divide by the size of the object, or compare with the distance between annotators.",
        "For keypoints of persons use OKS (verite coco --on keypoints), which weighs each joint.",
    ),
}


@dataclass(frozen=True, repr=False)
class Advice(Display):
    """Advice for one kind of region.

    Parameters
    ----------
    kind : {"box", "contour", "mask", "point"}
        What is compared.
    """

    kind: Kind

    def main_table(self) -> Table:
        """Return the metrics with the highest published scores, and the properties that each lacks."""
        kinds = {"box": ("mask", "box"), "contour": ("contour",), "mask": ("mask",), "point": ()}[self.kind]
        text = (files("verite") / "data" / "studies" / "jei-table3.csv").read_text(encoding="utf-8")
        published = csv.DictReader(text.splitlines())
        representation = {row["metric"]: row["representation"].lower() for row in published}
        scores = jei_scores()
        chosen = [name for name in sorted(scores, key=lambda n: -scores[n]) if representation[name] in kinds]
        shown = chosen[:MOST]
        shown += [name for name in chosen[MOST:] if self.kind == "box" and representation[name] == "box"]
        columns: dict[str, list[Any]] = {
            "in the paper": shown,
            "on": [representation[name] for name in shown],
            "score of 22": [scores[name] for name in shown],
            "lacks": [summary(name) for name in shown],
        }
        return Table.of("metric", [JEI_2010[name] for name in shown], columns)

    def contents(self) -> list[Part]:
        table = [self.main_table()] if self.kind != "point" else []
        return [*SENTENCES[self.kind], *table, "Study a metric of your own: verite study -m package.module:function"]

    def to_json(self, *, indent: int = 0) -> str:
        scores = jei_scores()
        table = self.main_table() if self.kind != "point" else None
        metrics = [{"metric": row[0], "label": row[1], "score": scores[str(row[1])], "lacks": lacking(str(row[1]))}
                   for row in (table.rows if table else ())]  # fmt: skip
        return to_json({"kind": self.kind, "advice": list(SENTENCES[self.kind]), "metrics": metrics}, indent=indent)


def lacking(name: str) -> list[str]:
    """Return the published blanks of a metric, one phrase per table.

    >>> lacking("HAU")[0]
    'translation: scale, shape'
    """
    found = []
    for table, title in JEI_TABLES.items():
        blanks = [column for column, cell in jei_table(table)[name].items() if cell in ("0", "+/-")]
        found += [f"{title}: {', '.join(blanks)}"] if blanks else []
    return found


def summary(name: str) -> str:
    """Return the missing properties in a few words.

    >>> summary("MARgce"), summary("VIN"), summary("ROBloc")
    ('nothing', 'rotation: shape', '17 properties')
    """
    found = lacking(name)
    count = sum(len(part.split(",")) for part in found)
    return "nothing" if not found else "; ".join(found) if count <= 3 else f"{count} properties"
