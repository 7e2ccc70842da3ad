"""Every case of tests/cases/advice*.yaml (or of the files named): its first choice, and whether the advice is right.

python benchmarks/advice/cases.py [FILE.yaml …]
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml
from judging import ALL, faults, shown

from wizard.advise.cases import cases
from wizard.advise.ranking import advise
from wizard.kernel.errors import UsageError
from wizard.texts import remedies


def main() -> int:
    """Print the table; the exit status says whether all is right."""
    wrong = known = total = 0
    print("| case | first choice, or why none | right |")
    print("|---|---|---|")
    for path in [Path(name) for name in sys.argv[1:]] or ALL:
        expectations = {
            str(expectation["id"]): expectation
            for expectation in yaml.safe_load(path.read_text(encoding="utf-8"))["cases"]
        }
        for name, case in cases(path):
            if isinstance(case, UsageError):
                raise case
            advice = advise(*case)
            findings = list(faults(expectations[name], advice))
            total, wrong = total + 1, wrong + bool(findings)
            known += bool(findings) and "fault" in expectations[name]
            why = (
                f"{advice.rejections[0].code}: {remedies.text(advice.rejections[0].remedies)}"
                if advice.rejections
                else ""
            )
            first = shown(advice.choices[0]) if advice.feasible else f"none; {why}"
            print(f"| {name} | {first} | {'; '.join(findings) or 'yes'} |")
    print(f"\n{total - wrong} of {total} right, {known} of the others with a known fault", file=sys.stderr)
    return 1 if wrong > known else 0


if __name__ == "__main__":
    sys.exit(main())
