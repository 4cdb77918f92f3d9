"""What is shown of an outcome? Sentences and tables, said once and printed in every style."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from verite.errors import BadParameter, did_you_mean

if TYPE_CHECKING:
    from verite.model.tables import Table
    from verite.signature import Signature

STYLES = ("text", "markdown", "latex", "csv", "html")


class Verbatim(str):
    """Text that was laid out with spaces and lines."""

    __slots__ = ()


Part: TypeAlias = "str | Signature | Table"


class Display:
    """Whatever has contents can be printed, put into a paper or a web page, and looked at in a notebook."""

    def contents(self) -> Iterable[Part]:
        """Sentences, tables and signatures in the order a person reads them."""
        raise NotImplementedError

    def main_table(self) -> Table:
        """The table that stands for all where there may be only one, as in CSV."""
        from verite.model.tables import Table

        return next((part for part in self.contents() if isinstance(part, Table)), Table((), ()))

    def __str__(self) -> str:
        from verite.model.styles import render

        return render(self.contents(), "text")

    def __repr__(self) -> str:
        return str(self)

    def to_csv(self, *, safe: bool = False) -> str:
        """The main table as comma-separated values, full precision; `safe` keeps spreadsheets from computing."""
        return self.main_table().to_csv(safe=safe)

    def to_markdown(self) -> str:
        """All of it as Markdown, with names that cannot link, call or load anything."""
        from verite.model.styles import render

        return render(self.contents(), "markdown") + "\n"

    def to_latex(self) -> str:
        """All tables as tabulars, the rest as comments."""
        from verite.model.styles import render

        return render(self.contents(), "latex") + "\n"

    def to_html(self) -> str:
        """All of it as one element of a web page; no script, nothing loaded."""
        from verite.model.styles import render

        return render(self.contents(), "html") + "\n"

    def _repr_html_(self) -> str:
        from verite.model.styles import render_notebook

        return render_notebook(self.contents())

    def in_style(self, style: str) -> str:
        """As text, markdown, latex, csv or html."""
        if style not in STYLES:
            raise BadParameter(
                f"style: expected one of {', '.join(STYLES)}, found {style!r}{did_you_mean(style, STYLES)}"
            )
        return str(self) if style == "text" else str(getattr(self, f"to_{style}")())
