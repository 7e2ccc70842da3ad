"""Make the README's picture: the real wizard, the real Triton, the offline demo model.

python docs/picture.py [WORKSPACE]    (writes docs/wizard.svg; the workspace is made if it is not there)
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for tests/, which is in no wheel

from tests.tui.walking import asked, to_chat
from wizard import journey
from wizard.kernel.paths import Workspace
from wizard.tui.app import WizardApp

SIZE = (92, 26)
QUESTIONS = ("What is Triton?", "What is tensor parallelism?")


async def picture(workspace: Workspace) -> str:
    """Walk from the machine to two answers; the last screen as SVG."""
    app = WizardApp(workspace, answers={"model": "demo"}, offline=True)
    async with app.run_test(size=SIZE) as pilot:
        chat = await to_chat(pilot, seconds=240)
        for question in QUESTIONS:
            await asked(pilot, question, chat)
        return app.export_screenshot(title="triton-wizard")


def main() -> None:
    """Write the picture and stop the server."""
    workspace = Workspace.at(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    svg = asyncio.run(picture(workspace))
    Path(__file__).with_name("wizard.svg").write_text(svg, encoding="utf-8")
    journey.stop(workspace)


if __name__ == "__main__":
    main()
