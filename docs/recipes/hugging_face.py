"""The same with the Trainer of Hugging Face: `compute_metrics` is given the batches of an evaluation."""

import tempfile

import torch
from toy import Detector, draw
from transformers import Trainer, TrainingArguments

from verite.compat.torchmetrics import MeanAveragePrecision


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.detector = Detector()

    def forward(self, pixel_values, labels):
        boxes = self.detector(pixel_values)
        return {"loss": self.detector.loss(pixel_values, labels), "pred_boxes": boxes}


def collate(items):
    return {"pixel_values": torch.stack([item[0] for item in items]), "labels": [item[1] for item in items]}


def compute_metrics(evaluated):
    metric = MeanAveragePrecision()
    for boxes, targets in zip(evaluated.predictions, evaluated.label_ids, strict=True):  # a batch each
        preds = [{"boxes": box[None], "scores": torch.tensor([0.9]), "labels": torch.tensor([1])} for box in boxes]
        metric.update(preds, list(targets))
    return {name: float(value) for name, value in metric.compute().items() if name in ("map", "map_50", "mar_100")}


with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(
        Model(),
        TrainingArguments(
            folder,
            num_train_epochs=5,
            learning_rate=0.8,
            weight_decay=0.0,
            per_device_train_batch_size=8,
            per_device_eval_batch_size=8,
            eval_do_concat_batches=False,  # images have different numbers of objects
            remove_unused_columns=False,
            label_names=["labels"],
            use_cpu=True,
            disable_tqdm=True,
            report_to="none",
            save_strategy="no",
        ),
        train_dataset=list(zip(*draw(32), strict=True)),
        eval_dataset=list(zip(*draw(32, seed=1), strict=True)),
        data_collator=collate,
        compute_metrics=compute_metrics,
    )
    trainer.train()
    print(f"map {trainer.evaluate()['eval_map']:.3f}")
