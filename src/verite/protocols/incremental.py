"""COCO's numbers for a training loop: batch by batch, from arrays, and from several processes put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from verite.checks import Finding, warn_of
from verite.errors import BadParameter, DataError
from verite.evaluation.notes import Notes
from verite.evaluation.part import Part
from verite.evaluation.parts import MergedNumbers
from verite.model.annotations import Annotations
from verite.model.labels import Labels
from verite.model.layouts import layout_name
from verite.protocols.batches import Batch, Item, image_of, is_finite, join_batches, read_batch, used_labels
from verite.protocols.coco import CocoResults, coco, evaluate, rules_of
from verite.protocols.coco_settings import CocoSettings
from verite.threads import thread_count

FIRST = 64  # images after which the checks look for the first time
LATER, MANY = 256, 50_000  # images or objects that are evaluated together from then on
MOST_PARTS = 16  # of about one size, before they are merged
AGAIN = "do several processes see the same image, or was reset() forgotten? duplicates='first' takes the first"


class CocoEvaluator:
    """Collects predictions and targets, one dictionary an image, and has the numbers of all of them at any time.

    A prediction has `boxes` [n, 4] (or `masks` [n, row, column], or `keypoints` [n, point, 3]), `scores` [n] and
    `labels` [n]; a target has `boxes` (or one of the others) and `labels`, and may have `iscrowd`, `ignore` and `area`.
    Arrays are numpy's, torch's, or anything that numpy takes. Images are counted as they come, or named by an
    `image_id` in every target. Settings are those of :func:`verite.coco`, checked at once.

    An image is complete when it arrives: a few of them are evaluated together, and only what became of their boxes and
    masks is kept. ``keep=True`` keeps everything instead, for `results.objects()`, `results.finds()` and the table by
    image. An image that comes twice is refused; ``duplicates="first"`` leaves out what comes later, as a sampler needs
    that repeats images to give every process as many.

    What looks wrong is said once, as a Python warning, when the first images are there, and is in ``results.findings``:
    an untrained network must not end a run, so that only ``checks="stop"`` stops. Predictions whose box or confidence
    is not finite count as wrong.

    >>> evaluator = CocoEvaluator(labels={1: "cat"})
    >>> evaluator.update([{"boxes": [[0, 0, 10, 10]], "scores": [0.9], "labels": [1]}],
    ...                  [{"boxes": [[0, 0, 10, 10]], "labels": [1]}])
    >>> round(evaluator.compute().scores["AP"].value, 4)
    1.0
    """

    def __init__(
        self,
        *,
        layout: str = "xyxy",
        labels: Mapping[int, str] | Sequence[str] | None = None,
        keep: bool = False,
        duplicates: Literal["error", "first"] = "error",
        **settings: Any,
    ) -> None:
        self.layout = layout_name(layout)
        self.names = dict(enumerate(labels)) if isinstance(labels, Sequence) else dict(labels) if labels else None
        self.settings = {"checks": "warn", **settings}
        self.asked = CocoSettings(**self.settings)  # wrong ones are refused here, not at the end of an epoch
        if duplicates not in ("error", "first"):
            raise BadParameter(f"duplicates: expected error or first, found {duplicates!r}")
        self.keep, self.duplicates = bool(keep), duplicates
        self.count = 0
        self.has_ids: bool | None = None  # None: nobody knows yet
        self.seen: set[int] = set()  # ids
        self.waiting: list[Batch] = []  # images that are not evaluated yet
        self.objects = 0  # in them
        self.parts: list[Part] = []
        self.findings: list[Finding] = []
        self.is_examined = False

    def __len__(self) -> int:
        """How many images there are."""
        return self.count

    @property
    def checks(self) -> str:
        return str(self.settings["checks"])

    def update(self, preds: Sequence[Item] | Item, targets: Sequence[Item] | Item) -> None:
        """Add the images of a batch."""
        predictions, truths = ([items] if isinstance(items, Mapping) else list(items) for items in (preds, targets))
        if len(predictions) != len(truths):
            raise BadParameter(
                f"update: expected as many targets as predictions, found {len(truths)} and {len(predictions)}"
            )
        # Everything is checked before anything is kept, so that a bad batch leaves no trace.
        found = [
            (read_batch(pred, "predictions", i), read_batch(target, "targets", i), image_of(pred, target, i))
            for i, (pred, target) in enumerate(zip(predictions, truths, strict=True))
        ]
        ids = [image for _, _, image in found]
        has_ids = self.agree_on_ids(ids)
        fresh = self.choose_new(ids) if has_ids else range(len(ids))
        first = self.count
        batches = [
            Batch(pred, target, first + n if image is None else image)
            for n, (pred, target, image) in enumerate(found[i] for i in fresh)
        ]
        self.check_labels(batches)
        self.has_ids, self.count = has_ids, first + len(batches)
        self.seen.update(batch.image for batch in batches if has_ids)
        self.waiting += batches
        self.objects += sum(map(len, batches))
        if not self.keep and (len(self.waiting) >= (LATER if self.is_examined else FIRST) or self.objects >= MANY):
            self.evaluate_waiting()
        elif self.keep and not self.is_examined and len(self.waiting) >= FIRST:
            self.look_at_first()

    def agree_on_ids(self, ids: Sequence[int | None]) -> bool | None:
        """All images have an id, or none has one."""
        kinds = {image is not None for image in ids} | ({self.has_ids} - {None})
        if len(kinds) > 1:
            raise BadParameter("image_id: expected one for every image or for none, found some without")
        return kinds.pop() if kinds else None

    def choose_new(self, ids: Sequence[Any]) -> list[int]:
        """The places of images that were not there before."""
        fresh: dict[int, int] = {}
        for i, image in enumerate(ids):
            if image not in self.seen and image not in fresh:
                fresh[image] = i
            elif self.duplicates == "error":
                raise DataError(f"image_id: expected each image once, found {image} again; {AGAIN}")
        return list(fresh.values())

    def check_labels(self, batches: Sequence[Batch]) -> None:
        """Every class was named, if any was."""
        strange = sorted(set(used_labels(batches).tolist()) - set(self.names)) if self.names is not None else []
        if strange:
            raise DataError(f"labels: expected one of {len(self.names or ())} that were named, found {strange[0]}")

    def evaluate_waiting(self) -> None:
        """Turn the images that wait into what became of them."""
        if not self.waiting:
            return
        truth, pred = join_batches(self.waiting, self.labels(self.waiting), self.layout)
        # The first images say what is wrong with the others, too, but for single boxes.
        checks = "off" if self.is_examined and is_finite(truth) and is_finite(pred) else self.checks
        # Many small evaluations are quicker one after the other.
        settings = self.asked.change(checks=checks, threads=self.asked.threads or 1)
        evaluation, findings = evaluate(truth, pred, settings)
        self.parts.append(evaluation.part(self.about))
        self.waiting, self.objects, self.is_examined = [], 0, True
        self.say(findings)
        self.merge_small()

    def merge_small(self) -> None:
        """Keep the number of parts low: so many of one size become one of the next size."""
        sizes = [len(part) for part in self.parts]
        while len(sizes) >= MOST_PARTS and sizes[-MOST_PARTS] < MOST_PARTS * sizes[-1]:
            merged = Part.merge(*self.parts[-MOST_PARTS:], takes_first=self.takes_first)
            self.parts[-MOST_PARTS:], sizes[-MOST_PARTS:] = [merged], [len(merged)]

    def look_at_first(self) -> None:
        """Say what is wrong before the last image is there."""
        from verite.checks import examine_all

        self.is_examined = True
        if self.checks == "warn":
            self.say(examine_all(*self.both_sides()))

    def say(self, findings: Sequence[Finding]) -> None:
        """Warn of what was not said yet."""
        known = {(finding.code, finding.side) for finding in self.findings}
        new = [finding for finding in findings if (finding.code, finding.side) not in known]
        self.findings += new
        if self.checks == "warn":
            warn_of(new, "CocoEvaluator")

    @property
    def takes_first(self) -> bool:
        return self.duplicates == "first"

    @property
    def about(self) -> str:
        """What must be the same of evaluators that are put together."""
        return repr((self.names, rules_of(self.asked), self.asked.confidence, self.has_ids))

    def merge(self, other: CocoEvaluator) -> None:
        """Add everything another evaluator has collected, for example in another process.

        Where images have no ids, those of the other one are numbered on.
        """
        if self.identity != other.identity:
            raise BadParameter("merge: expected an evaluator with the same settings, layout and labels")
        has_ids = self.agree_on_ids([]) if other.has_ids is None else self.agree_on_ids([0 if other.has_ids else None])
        again = self.seen & other.seen
        if again and not self.takes_first:
            raise DataError(f"image_id: expected each image once, found {min(again)} again; {AGAIN}")
        self.has_ids = has_ids
        if self.keep:
            self.take_waiting([batch for batch in other.waiting if batch.image not in again])
        else:
            self.evaluate_waiting()
            other.evaluate_waiting()
            Notes.join(part.notes for part in (*self.parts, *other.parts))  # what disagrees is named here
            self.take_parts(other.parts)
        self.seen |= other.seen
        self.count += other.count - len(again)
        self.findings += [finding for finding in other.findings if finding not in self.findings]
        self.is_examined |= other.is_examined

    @property
    def identity(self) -> tuple[Any, ...]:
        return self.layout, self.names, self.settings, self.keep, self.duplicates

    def take_waiting(self, batches: Sequence[Batch]) -> None:
        base = 0 if self.has_ids else self.count
        self.waiting += [Batch(batch.pred, batch.target, batch.image + base) for batch in batches]

    def take_parts(self, parts: Sequence[Part]) -> None:
        base = 0 if self.has_ids else self.count
        self.parts += [Part(part.kept.shift(base)) if base else part for part in parts]
        self.merge_small()

    def reset(self) -> None:
        """Forget everything that was collected."""
        given = {"layout": self.layout, "labels": self.names, "keep": self.keep, "duplicates": self.duplicates}
        self.__init__(**given, **self.settings)  # type: ignore[misc]

    def compute(
        self, *, name: str | None = None, gather: Callable[[bytes], Sequence[bytes]] | None = None
    ) -> CocoResults:
        """The numbers of all images so far; more may be added afterwards.

        `gather` hands over the bytes of this process and returns those of all processes, in the same order everywhere:
        with torch.distributed three lines around `all_gather_object`. Every process then has the numbers of all.
        """
        if gather is not None:
            return self.gather(gather).compute(name=name)
        name = name or "evaluator"
        if self.keep:
            results = coco(*self.both_sides(), **{**self.settings, "name": name})
            self.say(results.findings)
            return results
        self.evaluate_waiting()
        if not self.parts:
            return coco(*self.both_sides(), **{**self.settings, "name": name})
        numbers = MergedNumbers(
            self.parts,
            None if self.names is None else self.labels(()),
            is_together=self.asked.class_agnostic,
            takes_first=self.takes_first,
            threads=thread_count(self.asked.threads),
            remedy="keep them with CocoEvaluator(keep=True)",
        )
        results = CocoResults.of_parts(numbers, self.asked.change(name=name))
        results.findings = tuple(self.findings)
        return results

    def to_bytes(self) -> bytes:
        """What became of all images so far, for other processes."""
        if self.keep:
            raise BadParameter("gather: expected keep=False, found keep=True; merge pickled evaluators instead")
        self.evaluate_waiting()
        if not self.parts:
            return b""
        return Part.merge(*self.parts, takes_first=self.takes_first).add(self.findings).to_bytes()

    def gather(self, gather: Callable[[bytes], Sequence[bytes]]) -> CocoEvaluator:
        """An evaluator with what all processes have collected, and found suspicious; see :meth:`compute`."""
        whole = CocoEvaluator(
            layout=self.layout, labels=self.names, duplicates=self.duplicates, **self.settings
        )  # fmt: skip
        for data in gather(self.to_bytes()):
            if not data:
                continue
            part = Part.from_bytes(data)
            if whole.parts and part.kept.about != whole.parts[0].kept.about:
                raise BadParameter("gather: expected evaluators with the same settings and labels in all processes")
            whole.has_ids = bool(self.has_ids)
            whole.take_parts([part])
            whole.count += len(part)
        whole.findings = list(Notes.join(part.notes for part in whole.parts).tell(whole.count))
        whole.is_examined = True
        return whole

    def both_sides(self) -> tuple[Annotations, Annotations]:
        """Targets and predictions so far, as far as they are kept."""
        return join_batches(self.waiting, self.labels(self.waiting, every=True), self.layout)

    def labels(self, batches: Sequence[Batch], *, every: bool = False) -> Labels:
        """Those that were named, or else those that occur; of a few images only these."""
        if self.names is None:
            return Labels(None, used_labels(batches))
        if every or not batches:
            return Labels(list(self.names.values()), list(self.names))
        used = used_labels(batches).tolist()
        return Labels([self.names[id] for id in used], used)
