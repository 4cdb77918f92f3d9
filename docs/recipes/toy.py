"""Something to train: pictures with one bright rectangle each, and a detector that learns to stop missing them."""

import torch

SIDE = 64


def draw(count, seed=0):
    """Pictures and their targets, as torchvision's detectors take them."""
    generator = torch.Generator().manual_seed(seed)
    pictures, targets = torch.zeros(count, 1, SIDE, SIDE), []
    for picture in pictures:
        x, y = torch.randint(0, SIDE // 2, (2,), generator=generator).tolist()
        picture[0, y : y + 20, x : x + 24] = 1
        targets.append({"boxes": torch.tensor([[x, y, x + 24.0, y + 20.0]]), "labels": torch.tensor([1])})
    return pictures, targets


class Detector(torch.nn.Module):
    """Looks where it is bright, and is off by as much as it has not learned yet."""

    def __init__(self):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.tensor(8.0))

    def forward(self, pictures):
        """Corners of the bright rectangle, [picture, 4]."""
        found = []
        for picture in pictures:
            rows, columns = picture[0].max(1).values.nonzero(), picture[0].max(0).values.nonzero()
            found.append(torch.stack([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]))
        return torch.stack(found) + self.shift

    def loss(self, pictures, targets):
        return (self(pictures) - torch.cat([target["boxes"] for target in targets])).abs().mean()

    def predict(self, pictures):
        """Boxes, scores and labels of each picture."""
        return [
            {"boxes": box[None], "scores": torch.tensor([0.9]), "labels": torch.tensor([1])}
            for box in self(pictures).detach()
        ]
