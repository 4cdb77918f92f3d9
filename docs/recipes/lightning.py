"""The same with Lightning: the metric is a part of the module, which moves, synchronises and resets it."""

import pytorch_lightning
import torch
from toy import Detector, draw

from verite.compat.torchmetrics import MeanAveragePrecision


class LitDetector(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.detector = Detector()
        self.metric = MeanAveragePrecision()

    def training_step(self, batch, _):
        return self.detector.loss(*batch)

    def validation_step(self, batch, _):
        pictures, targets = batch
        self.metric.update(self.detector.predict(pictures), targets)

    def on_validation_epoch_end(self):
        result = self.metric.compute()
        self.log_dict({name: result[name] for name in ("map", "map_50", "mar_100")})
        self.metric.reset()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.5)


def collate(items):
    return torch.stack([picture for picture, _ in items]), [target for _, target in items]


loader = torch.utils.data.DataLoader(list(zip(*draw(32), strict=True)), batch_size=8, collate_fn=collate)
trainer = pytorch_lightning.Trainer(
    max_epochs=5, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
)
trainer.fit(LitDetector(), loader, loader)
print(f"map {trainer.callback_metrics['map']:.3f}")
