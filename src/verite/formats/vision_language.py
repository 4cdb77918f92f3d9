"""Answers of vision-language models: Qwen-VL's `bbox_2d`, Gemini's `box_2d`, location tokens of Florence-2, PaliGemma.

A file holds the answer to one prompt per image: an object keyed by image, a JSON array or lines with an image and an
answer each, a CSV table with a column of answers, or a folder with one file per image. An answer is JSON or the text
that the model wrote, with Markdown fences and prose around it. Answers have no confidences: `verite f1` evaluates them.

Whether Qwen's numbers are pixels or thousandths of the image is decided by the boxes and the image sizes, and said: a
box beyond its image cannot be in pixels, a number above 1000 cannot be in thousandths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verite.arrays import np
from verite.csv_files import read_csv
from verite.errors import ReadError, excerpt
from verite.files import read_text, split_lines
from verite.formats.format import Format, Options, PathProbe
from verite.formats.rows import Rows, size_images
from verite.model.annotations import Annotations
from verite.model.images import Images

SUFFIXES = (".json", ".jsonl", ".ndjson", ".txt", ".csv", ".tsv", ".md")
IMAGE_KEYS = ("image", "image_id", "file_name", "filename", "image_path", "image_name", "img", "id")
ANSWER_KEYS = (
    "answer", "response", "prediction", "predictions", "output", "outputs", "generated_text", "text", "objects",
    "boxes", "detections", "result", "content",
)  # fmt: skip
LABEL_KEYS = ("label", "class", "name", "category", "text_content", "object")
SCORE_KEYS = ("score", "confidence")
FENCE = re.compile(r"```[a-zA-Z0-9_]*[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL)
INNER_OBJECT = re.compile(r"\{[^{}]*\}")
FLORENCE = re.compile(r"([^<>]*)((?:<loc_\d+>){4,})")
PALIGEMMA = re.compile(r"((?:<loc\d{4}>){4})([^<;]*)")
TOKEN = re.compile(r"<loc_?(\d+)>")
THOUSAND = 1000.0
TOLERANCE = 2.0  # pixels beyond the image that rounding explains
ENOUGH = 20  # boxes from which it is evidence that none is beyond its image, or above 1000
WIDER = 1.1  # how much larger than 1000 pixels images must be, or smaller, before that can be seen

# Layout and unit of each kind of box, as its model documents it; None: decided by the boxes.
READINGS: dict[str, tuple[str, str | None]] = {
    "bbox_2d": ("xyxy", None),
    "box_2d": ("yxyx", "1000x1000"),
    "<loc_…>": ("xyxy", "1000x1000"),
    "<loc….>": ("yxyx", "1024x1024"),
    "bboxes": ("xyxy", "abs"),
}
MODELS = {
    "bbox_2d": "Qwen-VL",
    "box_2d": "Gemini",
    "<loc_…>": "Florence-2",
    "<loc….>": "PaliGemma",
    "bboxes": "Florence-2, post-processed",
}


@dataclass(frozen=True)
class Found:
    """One box of an answer: its kind (a key of `READINGS`), four numbers, class and confidence."""

    kind: str
    box: tuple[float, ...]
    label: str
    score: float | None = None


# An object whose keys are images and whose values are empty answers: a model that detected nothing.
EMPTY_ANSWERS = re.compile(
    r"""\s*\{(\s*"[^"]+\.(jpe?g|png|bmp|tiff?|webp)"\s*:\s*(\[\s*\]|"(\[\s*\])?")\s*,?)+\s*\}\s*$""", re.IGNORECASE
)


def recognise(probe: PathProbe) -> str | None:
    """A file, or a folder of files per image, with `bbox_2d`, `box_2d` or location tokens."""
    if not probe.files or probe.files[0].suffix.lower() not in SUFFIXES:
        return None
    head = probe.head
    if EMPTY_ANSWERS.match(head):
        return "answers by image without any box"
    if "box_2d" not in head and "<loc" not in head:
        return None
    for mark, kind in (('"bbox_2d', "bbox_2d"), ('"box_2d', "box_2d"), ("<loc_", "<loc_…>"), ("<loc", "<loc….>")):
        if mark in head.replace('\\"', '"').replace('""', '"'):
            token = "location tokens" if mark.startswith("<") else kind
            return f"answers with {token}, as {MODELS[kind]} writes them"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read the answers of all images; the unit of Qwen's boxes is decided by evidence."""
    rows = Rows(path, options)
    kinds: dict[str, int] = {}
    found: list[tuple[str, str, Found]] = []
    for where, image, answer in answers_of(path):
        with rows.errors:
            rows.remember_image(where, image)
            boxes = list(parse_answer(answer, where, rows))
            found += [(where, image, one) for one in boxes]
    for _, _, one in found:
        kinds[one.kind] = kinds.get(one.kind, 0) + 1
    if len(kinds) > 1:
        listed = " and ".join(f"{count:,} of {kind}" for kind, count in kinds.items())
        raise ReadError(path, expected="boxes of one kind", found=listed, remedy="keep the models' answers apart")
    kind = next(iter(kinds), "bbox_2d")
    layout, coords = READINGS[kind]
    for where, image, one in found:
        rows.add(where, image, one.label, one.box, one.score)
    why = f"{MODELS[kind]}'s {kind}: {'x1, y1, x2, y2' if layout == 'xyxy' else 'y1, x1, y2, x2'}"
    if coords is None and options.coords is None:
        coords, evidence = decide_unit(rows, options)
        why += f" in {'pixels' if coords == 'abs' else 'thousandths of the image'} ({evidence})"
    elif options.coords is None and coords != "abs":
        why += f" in {'thousandths' if coords == '1000x1000' else '1024ths'} of the image"
    return rows.annotations("vision-language", layout=layout, coords=coords or "abs", why=why)


def decide_unit(rows: Rows, options: Options) -> tuple[str, str]:
    """Return the unit of Qwen's boxes (`abs` or `1000x1000`) and the evidence in words.

    Raises
    ------
    ReadError
        If some boxes cannot be pixels and others cannot be thousandths.
    """
    option = options.spell("coords", "1000x1000")
    sizes = size_images(Images(list(rows.images)), options, rows.path)
    place = {name: i for i, name in enumerate(rows.images)}
    boxes = np.asarray(rows.boxes, dtype=np.float64).reshape(-1, 4)
    at = np.array([place[name] for name in rows.image], dtype=np.int64)
    limits = np.stack([sizes.widths, sizes.heights], axis=1)[at].astype(np.float64)
    ends = boxes[:, 2:]
    is_sized = (limits > 0).all(axis=1)
    beyond = int((is_sized & (ends > limits + TOLERANCE).any(axis=1)).sum())
    above = int((ends > THOUSAND).any(axis=1).sum())
    count = len(boxes)
    if above and beyond:
        raise ReadError(
            rows.path,
            expected="boxes in one unit",
            found=f"{beyond:,} of {count:,} beyond their images in pixels, and {above:,} above 1000 in thousandths",
            remedy=f"say which with {option} or {options.spell('coords', 'abs')}; pixels of a resized image are WxH",
        )
    if above:
        return "abs", f"{above:,} of {count:,} boxes have numbers above 1000"
    if beyond:
        return "1000x1000", f"{beyond:,} of {count:,} boxes would be beyond their images in pixels, none is above 1000"
    small = int((is_sized & (limits * WIDER <= THOUSAND).all(axis=1)).sum())
    large = int((is_sized & (limits >= THOUSAND * WIDER).all(axis=1)).sum())
    if small >= ENOUGH and small > large:
        return "abs", f"none of {count:,} boxes is beyond its image, {small:,} of them in images below 1000 pixels"
    if large >= ENOUGH and large > small:
        return "1000x1000", f"none of {count:,} boxes is above 1000, {large:,} of them in larger images"
    if not is_sized.any() and count:
        raise ReadError(
            rows.path,
            expected="image sizes, to tell pixels from thousandths",
            found="none",
            remedy=f"say it with {option} or {options.spell('coords', 'abs')}, or give the ground truth or "
            f"{options.spell('images', 'FOLDER')}",
        )
    return "abs", f"too few boxes to tell, {count:,}; {option} if they are thousandths"


def answers_of(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield place, image and answer, from whatever the file is."""
    if path.is_dir():
        for file in sorted(p for p in path.rglob("*") if p.is_file() and p.suffix.lower() in SUFFIXES):
            text = read_text(file)
            is_json = file.suffix.lower() == ".json" and text.lstrip()[:1] in ("[", "{")
            yield str(file), file.stem, load_json(text, str(file)) if is_json else text
        return
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        yield from answers_of_table(path)
        return
    text = read_text(path)
    lines = split_lines(text)
    starts = [line for line in lines[:3] if line.strip()]
    are_objects = all(line.lstrip().startswith("{") and line.rstrip().endswith("}") for line in starts)
    if suffix in (".jsonl", ".ndjson") or (len(starts) > 1 and are_objects):
        for number, line in enumerate(lines, 1):
            if line.strip():
                where = f"{path}:{number}"
                yield from answers_of_record(where, load_json(line, where))
        return
    document = load_json(text, str(path)) if text.lstrip()[:1] in ("{", "[") else text
    if isinstance(document, Mapping) and not find_key(document, IMAGE_KEYS):
        for image, answer in document.items():
            yield f"{path}: {excerpt(image)}", str(image), answer
    elif isinstance(document, list) and any(isinstance(one, Mapping) and find_key(one, IMAGE_KEYS) for one in document):
        for i, record in enumerate(document):
            yield from answers_of_record(f"{path}: [{i}]", record)
    elif isinstance(document, Mapping):
        yield from answers_of_record(str(path), document)
    else:
        yield str(path), path.stem, document


def answers_of_table(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the rows of a table with a column of images and one of answers."""
    table = read_csv(path, "a column of images and one of answers")
    heads = {head.strip().casefold(): head for head in table.head}
    image = next((heads[key] for key in IMAGE_KEYS if key in heads), None)
    answer = next((heads[key] for key in ANSWER_KEYS if key in heads), None)
    if image is None or answer is None:
        raise ReadError(
            path,
            expected=f"a column of images ({', '.join(IMAGE_KEYS[:3])} …) and one of answers "
            f"({', '.join(ANSWER_KEYS[:3])} …)",
            found=", ".join(map(excerpt, table.head)),
        )
    for where, row in table.records():
        yield where, row[image], row[answer]


def answers_of_record(where: str, record: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield image and answer of one record; a record may also be a single box."""
    if not isinstance(record, Mapping):
        raise ReadError(where, expected="an object with an image and an answer", found=excerpt(record))
    image = find_key(record, IMAGE_KEYS)
    if not image:
        raise ReadError(where, expected=f"an image ({', '.join(IMAGE_KEYS[:4])} …)", found=", ".join(map(str, record)))
    if "bbox_2d" in record or "box_2d" in record:
        yield where, str(record[image]), [record]
        return
    answer = find_key(record, ANSWER_KEYS)
    if not answer:
        raise ReadError(
            where, expected=f"an answer ({', '.join(ANSWER_KEYS[:4])} …)", found=", ".join(map(str, record))
        )
    yield where, str(record[image]), record[answer]


def find_key(record: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the first of these names that a record has; "" if there is none."""
    return next((name for name in names if name in record), "")


def load_json(text: str, where: str) -> Any:
    """Return the values of a JSON text, or raise `ReadError`.

    Parameters
    ----------
    text
        What a model answered.
    where
        The record, for messages.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReadError(where, expected="JSON", found=excerpt(str(error)), remedy="was it cut off?") from None


def parse_answer(answer: Any, where: str, rows: Rows) -> Iterator[Found]:
    """Yield the boxes of one answer: a JSON value, or the text that the model wrote."""
    if isinstance(answer, str):
        if TOKEN.search(answer):
            yield from parse_tokens(answer)
            return
        answer = value_of_text(answer, where, rows)
    if isinstance(answer, Mapping):
        if "bbox_2d" in answer or "box_2d" in answer:
            answer = [answer]
        elif "bboxes" in answer:
            labels = answer.get("labels") or [""] * len(answer["bboxes"])
            for box, label in zip(answer["bboxes"], labels, strict=False):
                yield Found("bboxes", check_numbers(box, where, "bboxes"), check_label(label, where))
            return
        else:  # a task of Florence-2, or a list under a key
            for inner in answer.values():
                yield from parse_answer(inner, where, rows)
            return
    if not isinstance(answer, list):
        if answer is None:
            return
        raise ReadError(where, expected="a list of boxes", found=excerpt(answer))
    for one in answer:
        if not isinstance(one, Mapping):
            raise ReadError(where, expected="a box with bbox_2d or box_2d and a label", found=excerpt(one))
        kind = "bbox_2d" if "bbox_2d" in one else "box_2d" if "box_2d" in one else ""
        if not kind:
            raise ReadError(where, expected="bbox_2d or box_2d", found=", ".join(map(str, one)) or "nothing")
        label, score = find_key(one, LABEL_KEYS), find_key(one, SCORE_KEYS)
        given = one[score] if score else None
        yield Found(
            kind,
            check_numbers(one[kind], where, kind),
            check_label(one[label] if label else "", where),
            float(given) if isinstance(given, (int, float)) and not isinstance(given, bool) else None,
        )


def value_of_text(text: str, where: str, rows: Rows) -> Any:
    """Return the JSON value in a text: without Markdown fences, without prose around it, or what is whole of it."""
    fenced = FENCE.search(text)
    if fenced:
        rows.remark("answers in Markdown fences, which were removed", where)
        text = fenced[1]
    text = text.strip()
    first = min((i for i in (text.find("["), text.find("{")) if i >= 0), default=-1)
    if first < 0:
        if text:
            rows.remark("answers without any box", where)
        return []
    last = max(text.rfind("]"), text.rfind("}"))
    try:
        value = json.loads(text[first : last + 1])
    except (ValueError, RecursionError):
        whole = []
        for match in INNER_OBJECT.findall(text):
            try:
                whole.append(json.loads(match))
            except (ValueError, RecursionError):
                continue
        if not whole:
            raise ReadError(where, expected="boxes in JSON", found=excerpt(text), remedy="was it cut off?") from None
        rows.remark("answers that are cut off or broken; their whole boxes were read", where)
        return [one for one in whole if "bbox_2d" in one or "box_2d" in one]
    if first > 0 or last + 1 < len(text):
        rows.remark("answers with text around their JSON, which was removed", where)
    return value


def parse_tokens(text: str) -> Iterator[Found]:
    """Yield the boxes of location tokens: Florence-2's after the class, PaliGemma's before it."""
    if "<loc_" in text:
        for label, tokens in FLORENCE.findall(text.replace("</s>", "").replace("<s>", "")):
            numbers = [float(number) for number in TOKEN.findall(tokens)]
            for first in range(0, len(numbers) - 3, 4):
                yield Found("<loc_…>", tuple(numbers[first : first + 4]), label.strip() or "object")
        return
    for tokens, label in PALIGEMMA.findall(text):
        yield Found("<loc….>", tuple(float(number) for number in TOKEN.findall(tokens)), label.strip() or "object")


def check_numbers(box: Any, where: str, kind: str) -> tuple[float, ...]:
    """Return four finite numbers, or raise `ReadError`.

    Parameters
    ----------
    box
        A value that should be a list of four numbers.
    where
        The record, for messages.
    kind
        The key, such as `bbox_2d`.
    """
    numbers = box if isinstance(box, list) else []
    if len(numbers) != 4 or not all(
        isinstance(n, (int, float)) and not isinstance(n, bool) and abs(n) < 1e9 for n in numbers
    ):
        raise ReadError(where, expected=f"four numbers in {kind}", found=excerpt(box))
    return tuple(map(float, numbers))


def check_label(label: Any, where: str) -> str:
    """Return the name of a class; boxes without one are objects.

    Parameters
    ----------
    label
        The value beside the box; numbers are read as text.
    where
        The record, for messages.
    """
    if not isinstance(label, (str, int)) or isinstance(label, bool):
        raise ReadError(where, expected="a label", found=excerpt(label))
    return str(label).strip() or "object"


FORMAT = Format(
    name="vision-language",
    title="answers of vision-language models",
    about="Qwen-VL's `bbox_2d`, Gemini's `box_2d`, location tokens of Florence-2 and PaliGemma, one answer per image",
    recognise=recognise,
    read=read,
    options=frozenset({"boxes", "coords", "image_size", "images"}),
    suffixes=(".json", ".jsonl", ".csv", ".txt"),
    sides=("pred",),
)
