"""Every acceptance figure of the statistics: coverage, error rates and calibration, on generated and on real data.

    python benchmarks/statistics.py                        everything, a few worlds of each kind (minutes of CPU)
    python benchmarks/statistics.py --only S3,S6           intervals around AP, clustered intervals
    python benchmarks/statistics.py --worlds 200           as many worlds, for figures with small standard errors
    python benchmarks/statistics.py --real ../shared/real  where COCO val2017 with twelve detectors lies

S2 ties and audits, S3 intervals around AP, S4 probabilities of being first, S5 few groups of images, S6 clustered
intervals, image-level tests and slices, S10 expected calibration error and suspicion. Each line has a figure, its
standard error where there is one, the range that was wanted, and whether it is reached: "open" where it is missed by
less than two standard errors, so that more worlds would decide. Worlds are those of statistics_worlds.py; --seed gives
fresh ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    sys.path = [path for path in sys.path if Path(path or ".").resolve() != HERE]
    import statistics  # the standard library's, before this folder is searched again

    sys.path.append(str(HERE))
    from statistics_figures import main

    assert statistics.NormalDist
    main(str(__doc__))
else:  # `import statistics` of a program in this folder means the standard library's
    from importlib.util import module_from_spec, spec_from_file_location
    from sysconfig import get_path

    standard = spec_from_file_location("statistics", Path(get_path("stdlib")) / "statistics.py")
    assert standard is not None
    assert standard.loader is not None
    sys.modules["statistics"] = module_from_spec(standard)
    standard.loader.exec_module(sys.modules["statistics"])
