"""Every example in the documentation of an operation must parse.

An example stands in a fence marked mlir, or in backquotes after "Example:". The
round-trip tests contain each of them literally, up to white space, so they are
parsed, verified and printed there. Usage: check_examples.py DIALECT TESTS
"""

import pathlib
import re
import sys


def normalise(text):
    return " ".join(text.split())


def find_examples(source):
    for match in re.finditer(r"```mlir\n(.*?)```", source, re.DOTALL):
        yield match.group(1)
    for match in re.finditer(r"Example: `([^`]+)`", source):
        yield match.group(1)


def main():
    dialect, tests = map(pathlib.Path, sys.argv[1:3])
    covered = normalise(" ".join(p.read_text() for p in sorted(tests.glob("*-roundtrip.mlir"))))
    count, missing = 0, []
    for path in sorted(dialect.glob("*.td")):
        for example in map(normalise, find_examples(path.read_text())):
            count += 1
            if example not in covered:
                missing.append(f"{path.name}: in no round-trip test: {example}")
    print("\n".join(missing + [f"{count} examples, {len(missing)} missing"]))
    return 1 if missing or not count else 0


if __name__ == "__main__":
    sys.exit(main())
