"""The documents that the tests use as one file each, for fuzz_json to change: python -m tests.json.corpus FOLDER"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.json.documents import random_document
from tests.json.test_malformed import DOCUMENTS


def write(folder: Path, count: int = 400) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    documents = dict(DOCUMENTS)
    documents |= {f"random{seed}": random_document(seed, fault_rate=0.01 * (seed % 2)) for seed in range(count)}
    for name, content in documents.items():
        (folder / f"{name}.json").write_bytes(content)
    return sorted(folder.iterdir())


if __name__ == "__main__":
    write(Path(sys.argv[1]))
