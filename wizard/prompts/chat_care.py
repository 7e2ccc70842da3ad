"""A chat in plain prompts learns that its server, which is kept running, failed and is restarted, and waits for it."""

from __future__ import annotations

from wizard.chat.commands.session import ChatSession
from wizard.kernel.text import one_line, plain
from wizard.prompts.speech import tell
from wizard.serve.care import News

NO_SERVER = "TW-C01"
"""Shown if no server responds (any more)."""
LOST = (NO_SERVER, "TW-C03", "TW-C11")
"""Codes of errors that a server's end leads to."""
BEGIN_S = 5.0
"""Seconds until the end of a process is noted; a server that lives, and does not answer, is rarely restarted."""
RESTART_S = 120.0
"""Seconds to wait for a server that is being restarted; a large model needs longer, and is then asked again later."""


def is_restarted(talk: ChatSession, news: News) -> bool:
    """Whether the server is kept running and was restarted meanwhile; a line says when it begins, and ends."""
    if not news.await_begin(BEGIN_S):
        return False
    tell_news(talk, news)
    restarted = news.await_end(RESTART_S)
    tell_news(talk, news)
    return restarted


def tell_news(talk: ChatSession, news: News) -> None:
    """Print a line if something happened to the server since the last time."""
    if line := news.read(one_line(talk.endpoint.name)):
        tell(plain(line))
