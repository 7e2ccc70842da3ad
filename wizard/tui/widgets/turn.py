"""The two kinds of turns in a transcript."""

from __future__ import annotations

from markdown_it import MarkdownIt
from textual.content import Content
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownStream

from wizard.kernel.text import plain


def parser() -> MarkdownIt:
    """Markdown without HTML: tags in an answer are shown as they were written, not dropped."""
    return MarkdownIt("gfm-like", {"html": False})


class Question(Static):
    """What the user said; never markup."""

    DEFAULT_CSS = """
    Question { margin: 1 0 0 0; padding: 0 1; border-left: outer $secondary; background: $surface; height: auto; }
    """

    def __init__(self, text: str) -> None:
        super().__init__(Content(plain(text)), markup=False)


class Answer(Markdown):
    """What the model says, as Markdown, while it comes."""

    DEFAULT_CSS = """
    Answer { margin: 1 0 0 0; padding: 0 1; border-left: outer $primary; background: $background; height: auto; }
    Answer > MarkdownParagraph:last-child { margin: 0; }
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(plain(text), parser_factory=parser, open_links=False)
        self._text: list[str] = []
        self._stream: MarkdownStream | None = None

    async def add(self, piece: str) -> None:
        """Show one more piece."""
        if piece:
            self._text.append(piece)
            self._stream = self._stream or Markdown.get_stream(self)
            await self._stream.write(plain(piece))

    async def finish(self) -> str:
        """End the stream, lay the whole text out once more, and return it."""
        if self._stream is not None:
            await self._stream.stop()
        text = plain("".join(self._text))
        await self.update(text)
        return text
