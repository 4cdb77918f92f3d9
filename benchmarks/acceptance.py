"""One line per acceptance figure: value, standard error, the range that was wanted, and whether it is reached."""

from __future__ import annotations

from verite.statistics.intervals import wilson


def show(what: str, value: float, wanted: tuple[float, float] | None = None, trials: int = 0, error: float = 0) -> None:
    """Print one figure; `trials` is the number of trials behind a share, `error` another standard error."""
    if trials:
        error = (value * (1 - value) / trials) ** 0.5
    shown = f"{value:.3f}" + (f" ± {error:.3f}" if error else "")
    goal = verdict = ""
    if wanted is not None:
        low, high = wanted
        goal = f"{low:g}–{high:g}" if low > -1 and high < 9 else f"≤ {high:g}" if low <= -1 else f"≥ {low:g}"
        ends = wilson(value, trials) if trials else (value - 2 * error, value + 2 * error)
        is_open = ends[0] <= high and ends[1] >= low  # more worlds would decide
        verdict = "reached" if low <= value <= high else "open" if is_open else "NOT REACHED"
    print(f"  {what:66s} {shown:>16s}  {goal:>10s}  {verdict}", flush=True)
