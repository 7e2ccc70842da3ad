"""Gather every message of the wizard into the catalogs and compile them: ``python translations/update.py``.

Messages are the literals given to `wizard.kernel.language.tr`, `ntr` and `mark`, and the texts for people in
``profiles/`` (`IN_PROFILES`). ``translations/CODE.po`` keeps the translations; Weblate, Poedit and their like edit such
files. What is compiled from it lies in ``wizard/locale``, where the wizard reads it.
"""

from __future__ import annotations

import ast
import datetime
import io
import string
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from wizard.kernel.language import CATALOGS, DOMAIN, LANGUAGES  # noqa: E402
from wizard.kernel.toml import loads  # noqa: E402

SINCE = datetime.datetime(2026, 11, 21, tzinfo=datetime.timezone.utc)
KEYWORDS = {"tr": 1, "ntr": 2, "mark": 1}
"""Function → how many of its first arguments are the message."""
IN_PROFILES = {
    "recipes": ("title", "about", "repaired", "later"),
    "models": ("about",),
    "presets": ("about",),
    "explanations": ("*.what", "*.why", "*.look"),
    "failures": ("*.title", "*.cause", "*.fix"),
    "progress": ("*.activity",),
    "workshops": ("title", "text", "say.*.*"),
}
"""Folder of ``profiles/`` → keys whose texts, or lists of texts, a user reads; ``*`` is every key of a table."""


def messages() -> Catalog:
    """All messages of the code and of the profiles, without translations."""
    catalog = Catalog(fuzzy=False)
    for path, message in _in_code():
        catalog.add(message, locations=[(path, None)])  # type: ignore[list-item]  # babel takes None for a line
    for path, text in _in_profiles():
        catalog.add(text, locations=[(path, None)])  # type: ignore[list-item]
    return catalog


def _in_code() -> Iterator[tuple[str, str | tuple[str, str]]]:
    """Where a message is, and the message; also inside of f-strings, which babel's own extractor does not look into."""
    for path in sorted((ROOT / "wizard").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KEYWORDS:
                literals = [
                    str(argument.value)
                    for argument in node.args[: KEYWORDS[node.func.id]]
                    if isinstance(argument, ast.Constant)
                ]
                if len(literals) == KEYWORDS[node.func.id] and all(literals):
                    yield str(path.relative_to(ROOT)), literals[0] if len(literals) == 1 else (literals[0], literals[1])


def _in_profiles() -> Iterator[tuple[str, str]]:
    for folder, keys in IN_PROFILES.items():
        for path in sorted((ROOT / "profiles" / folder).glob("*.toml")):
            data = loads(path.read_text(encoding="utf-8"))
            for key in keys:
                for text in _at(data, key):
                    yield str(path.relative_to(ROOT)), text


def _at(table: dict[str, Any], key: str) -> Iterator[str]:
    """The texts under a dotted key."""
    first, _, rest = key.partition(".")
    for value in table.values() if first == "*" else [table[first]] if first in table else []:
        if rest:
            yield from _at(value, rest)
        else:
            yield from [value] if isinstance(value, str) else value


def source(code: str) -> Path:
    """The catalog of a language as translators edit it."""
    return ROOT / "translations" / f"{code}.po"


def compiled(code: str) -> Path:
    """The catalog of a language as the wizard reads it."""
    return CATALOGS / code / "LC_MESSAGES" / f"{DOMAIN}.mo"


def read(code: str) -> Catalog:
    """The catalog of a language; of a new one it is empty."""
    if not source(code).exists():
        return Catalog(locale=code)
    with source(code).open("rb") as file:
        return read_po(file, locale=code)


def updated(code: str) -> Catalog:
    """All present messages with the translations that there are; nothing is guessed."""
    old, new = read(code), messages()
    catalog = Catalog(locale=code, domain=DOMAIN, project=DOMAIN, fuzzy=False, header_comment=f"# {LANGUAGES[code]}")
    catalog.creation_date = catalog.revision_date = SINCE  # the same messages are the same bytes
    for message in new:
        if message.id:
            before = old.get(message.id)
            catalog.add(message.id, before.string if before else "", locations=message.locations)
    return catalog


def as_po(catalog: Catalog) -> bytes:
    """The text of a catalog, sorted, so that a change is a small difference."""
    text = io.BytesIO()
    write_po(text, catalog, width=120, sort_output=True, omit_header=False, include_lineno=False)
    return text.getvalue()


def as_mo(catalog: Catalog) -> bytes:
    """The compiled catalog."""
    text = io.BytesIO()
    write_mo(text, catalog)
    return text.getvalue()


def problems(catalog: Catalog) -> list[str]:
    """What is missing in a catalog: a translation, or a field of the message."""
    return [f"{message.id!r}: {wrong}" for message in catalog if message.id and (wrong := _problem(message))]


def _problem(message: Message) -> str:
    ids = [message.id] if isinstance(message.id, str) else list(message.id)
    strings = [message.string] if isinstance(message.string, str) else list(message.string or ("",))
    if not all(strings):
        return "not translated"
    wanted = set().union(*(fields(text) for text in ids))
    wrong = [text for text in strings if fields(text) != wanted]
    return f"other fields in {wrong[0]!r}" if wrong else ""


def fields(text: str) -> set[str]:
    """The fields of a message, with their format; none where it is no format string."""
    try:
        return {f"{name}:{spec}!{how}" for _, name, spec, how in string.Formatter().parse(text) if name is not None}
    except ValueError:
        return set()


def main() -> None:
    """Update and compile every catalog; say what is missing."""
    for code in LANGUAGES:
        if code == "en":
            continue  # English is what the messages are written in
        catalog = updated(code)
        source(code).write_bytes(as_po(catalog))
        compiled(code).parent.mkdir(parents=True, exist_ok=True)
        compiled(code).write_bytes(as_mo(catalog))
        missing = problems(catalog)
        print(f"{code}: {len(catalog)} messages, {len(missing)} to do", *missing[:20], sep="\n  ")


if __name__ == "__main__":
    main()
