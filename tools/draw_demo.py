"""Draw the bundled demo data: pictures of an imaginary harbour town, their truth, and what three detectors say.

    python tools/draw_demo.py [FOLDER]        (default: src/verite/data/demo; needs numpy, Pillow, pycocotools)

writes, replacing what is there,

    images/*.png     36 pictures in 4 places, one of them without any object
    truth.json       COCO JSON: boxes, and polygons or run-length masks of the pixels that can be seen
    truth-voc/*.xml  the same boxes as Pascal VOC XML, with truncated, occluded and difficult
    hawk.json, magpie.json, mole.json    COCO results with boxes and masks
    suite.toml       the same detectors on two datasets, for `verite suite`

The same files come out every time. The JSON and XML do not depend on the versions of the libraries: shapes are filled
by our own code and random numbers are those Python promises to keep. The PNG files hold the same drawing whatever the
version, but Pillow chooses their palette and zlib packs them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from demo.detectors import DETECTORS
from demo.scenes import Picture, pictures
from demo.truth import objects, one_a_line, write_coco, write_voc
from PIL import Image

DEMO = Path(__file__).parent.parent / "src" / "verite" / "data" / "demo"
COLOURS = 96
SUITE = """\
# Two detectors on two datasets; paths are relative to this file.
name = "harbour and people"
metric = "AP"
detectors = ["hawk", "mole"]

[datasets.harbour]
truth = "truth.json"
pred = "{detector}.json"

[datasets.people]
truth = "truth.json"
pred = "{detector}.json"
settings = { labels = ["person"] }
"""


def main(folder: Path) -> None:
    for part in ("images", "truth-voc"):
        shutil.rmtree(folder / part, ignore_errors=True)
        (folder / part).mkdir(parents=True)
    found = {picture: objects(picture) for picture in pictures()}
    for picture in found:
        save(picture, folder / "images" / picture.name)
    write_coco(folder / "truth.json", found)
    write_voc(folder / "truth-voc", found)
    for name, (detect, style) in DETECTORS.items():
        records = [
            guess.record(picture, style) for picture, marked in found.items() for guess in detect(picture, marked)
        ]
        (folder / f"{name}.json").write_text(one_a_line(records) + "\n", encoding="utf-8")
    (folder / "suite.toml").write_text(SUITE, encoding="utf-8")


def save(picture: Picture, path: Path) -> None:
    image = Image.fromarray(picture.canvas.picture())
    image.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEMO)
