"""A YAML file as JSON, by PyYAML: standard input → a line of JSON, ``{"data": …}`` or ``{"error": …}``.

An alias is written out each time, so nested ones grow without bound, and libyaml overflows the stack of deep nesting:
both end this process, and not the wizard.
"""

from __future__ import annotations

import json
import sys

LARGEST = 32 << 20
"""Characters of JSON; more is taken for a bomb."""


def main() -> None:
    """Print the document."""
    import yaml

    # libyaml, which PyYAML's wheels contain, is five times as fast
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    try:
        data = yaml.load(sys.stdin.buffer.read().decode("utf-8"), loader)  # noqa: S506 -- both are safe
        text = json.dumps({"data": data}, default=str)
        print(text if len(text) <= LARGEST else '{"error": "memory"}')
    except MemoryError:
        print('{"error": "memory"}')
    except RecursionError:
        print('{"error": "deep"}')
    except (yaml.YAMLError, ValueError, TypeError) as error:
        print(json.dumps({"error": "damaged", "detail": str(error)[:200]}))


if __name__ == "__main__":
    main()
