"""How soon do lists of suspicious truths come to errors that were planted? verite, hotcoco and cleanlab's ObjectLab.

Average precision of each list, each planted error counting once, on generated data: wrong labels, objects that are not
in the truth, shifted boxes. The worlds differ in how many errors there are, how sure and how good the detector is, and
how many labels there are; the seeds are none that any of the methods was looked at with. These are generated data, not
people's mistakes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

WORLDS: dict[str, dict[str, Any]] = {
    "soft confidences": {},
    "sharp confidences": {"sharp": True},
    "2 % errors of each kind": {"rate": 0.02},
    "8 % errors of each kind": {"rate": 0.08},
    "20 labels": {"labels": 20},
    "rough boxes, many false ones": {"noise": 0.1, "extra": 6, "recall": 0.8},
}
# cleanlab is AGPL: it runs in an environment of its own, and its definition is another one.
CLEANLAB = """
import sys, json, io, contextlib, warnings
import numpy as np
warnings.filterwarnings("ignore")
import cleanlab.object_detection.rank as rank
truth, results = json.load(sys.stdin)
labels = len(truth["categories"])
corners = lambda b: [b[0], b[1], b[0] + b[2], b[1] + b[3]]
given, said, rows, preds = [], [], [], []
for image in truth["images"]:
    own = [(k, a) for k, a in enumerate(truth["annotations"]) if a["image_id"] == image["id"]]
    boxes = np.array([corners(a["bbox"]) for _, a in own]).reshape(-1, 4)
    given.append({"bboxes": boxes, "labels": np.array([a["category_id"] - 1 for _, a in own], int)})
    rows.append([k for k, _ in own])
    each = np.empty(labels, dtype=object)
    order = []
    for c in range(labels):
        found = [(k, d) for k, d in enumerate(results) if d["image_id"] == image["id"] and d["category_id"] == c + 1]
        each[c] = np.array([[*corners(d["bbox"]), d["score"]] for _, d in found]).reshape(-1, 5)
        order += [k for k, _ in found]
    said.append(each)
    preds.append(order)
with contextlib.redirect_stdout(io.StringIO()):
    scores = [f(labels=given, predictions=said) for f in (
        rank.compute_overlooked_box_scores, rank.compute_badloc_box_scores, rank.compute_swap_box_scores)]
listed = []
for i in range(len(rows)):
    listed += [(float(s), "pred", k) for s, k in zip(scores[0][i], preds[i]) if not np.isnan(s)]
    listed += [(float(min(a, b)), "truth", k) for a, b, k in zip(scores[1][i], scores[2][i], rows[i])]
listed.sort(key=lambda one: one[0])
print(json.dumps([one[1:] for one in listed if one[0] < 1]))
"""


def ask_verite(truth: Any, results: Any, folder: Path) -> list[tuple[str, int]]:
    import verite as vt

    known = vt.read(folder / "truth.json")
    found = vt.analyse(known, vt.read(folder / "results.json", like=known), iou=0.5, checks="off").suspicious
    return [("truth", one.truth) if one.truth is not None else ("pred", one.pred) for one in found.listed]


def ask_hotcoco(truth: Any, results: Any, folder: Path) -> list[tuple[str, int]]:
    from hotcoco import COCO, COCOeval

    known = COCO(str(folder / "truth.json"))
    run = COCOeval(known, known.load_res(str(folder / "results.json")), "bbox")
    run.evaluate()
    rows = {a["id"]: k for k, a in enumerate(truth["annotations"])}
    told = run.image_diagnostics(score_thr=0.05)["label_errors"]
    return [("truth", rows[x["gt_id"]]) if x["type"] == "wrong_label" else ("pred", x["dt_id"] - 1) for x in told]


def ask_cleanlab(peer: str, truth: Any, results: Any) -> list[tuple[str, int]]:
    done = subprocess.run(
        [peer, "-c", CLEANLAB], input=json.dumps([truth, results]), capture_output=True, text=True, check=True
    )
    return [(side, row) for side, row in json.loads(done.stdout)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="of each world")
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--peer", help="a python that has cleanlab; without it, cleanlab is left out")
    given = parser.parse_args()
    from tests.oracles.planted import list_precision, plant

    tools = ["verite", "hotcoco", *(["cleanlab"] if given.peer else [])]
    print(f"{'list AP, mean [least] of ' + str(given.seeds) + ' seeds':34}" + "".join(f"{name:>18}" for name in tools))
    best = total = 0
    for world, settings in WORLDS.items():
        values = []
        for seed in range(given.first, given.first + given.seeds):
            truth, results, planted = plant(seed, **settings)
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                for name, document in (("truth", truth), ("results", results)):
                    (folder / f"{name}.json").write_text(json.dumps(document))
                lists = [ask_verite(truth, results, folder), ask_hotcoco(truth, results, folder)]
            lists += [ask_cleanlab(given.peer, truth, results)] if given.peer else []
            values.append([list_precision(listed, results, planted) for listed in lists])
        found = np.array(values)
        best += int((found[:, 0] >= found.max(axis=1)).sum())
        total += len(found)
        cells = [f"{mean:.3f} [{least:.3f}]" for mean, least in zip(found.mean(0), found.min(0), strict=True)]
        print(f"{world:34}" + "".join(f"{cell:>18}" for cell in cells), flush=True)
    print(f"verite's list is the best in {best} of {total}")


if __name__ == "__main__":
    main()
