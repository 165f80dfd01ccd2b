"""Names the licences of what the clients need where they run, and refuses unknown ones and copyleft.

    licences.py PACKAGE_JSON    run by a Python that has the Python client and nothing else
"""

import importlib.metadata
import json
import re
import sys

PERMISSIVE = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0", "Python-2.0", "Unlicense", "0BSD"}
CLASSIFIERS = {"MIT License": "MIT", "BSD License": "BSD-3-Clause", "Apache Software License": "Apache-2.0"}
TOOLS = {"pip", "setuptools", "wheel", "loci-memory"}

# Packages whose licence would be refused, with the reason. One that excuses nothing is an error.
EXCUSED = {"certifi": "MPL-2.0 of a list of certificates, which is neither changed nor part of the client"}


def licence(name: str, said: importlib.metadata.PackageMetadata) -> str:
    if said["License-Expression"]:
        return said["License-Expression"]
    for classifier in said.get_all("Classifier") or []:
        if classifier.startswith("License ::"):
            last = classifier.split("::")[-1].strip()
            return CLASSIFIERS.get(last, last)
    return said["License"] or "none"


def main() -> int:
    refused, used = [], set()
    for found in importlib.metadata.distributions():
        name = found.metadata["Name"].lower()
        if name in TOOLS:
            continue
        says = licence(name, found.metadata)
        if not {part for part in re.split(r"[()\s]+", says) if part not in ("", "OR", "AND")} <= PERMISSIVE:
            if name in EXCUSED:
                used.add(name)
            else:
                refused.append(f"{name} {found.version} is under {says}, which is refused")
        print(f"{name} {found.version}: {says}")
    refused += [f"{name} needs no excuse: remove it" for name in EXCUSED.keys() - used]
    with open(sys.argv[1], encoding="utf-8") as file:
        needs = json.load(file).get("dependencies", {})
    refused += [f"the JavaScript client needs {name}, whose licence nobody looks at: it had no dependencies" for name in needs]
    for line in refused:
        print("FAIL " + line)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
