"""Starts the program that was installed with this package, under the package's own name."""

import os
import subprocess
import sys
import sysconfig


def program() -> str:
    """The path of the program: among the scripts of the environment, or of the user."""
    name = "loci.exe" if os.name == "nt" else "loci"
    own = os.path.dirname(os.path.abspath(__file__))
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", os.name + "_user")]
    folders += [os.path.join(own, "bin"), os.path.join(own, "..", "..", "..", "bin")]  # pip install --target, --prefix
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    sys.stderr.write(f"loci: the program is missing; it was not in {', '.join(folders)}.\n"
                     "Install the package again: pip install --force-reinstall loci-memory-cli\n")
    sys.exit(6)


def main() -> None:
    """Runs the program in place of this process."""
    path = program()
    if os.name == "nt":
        sys.exit(subprocess.call([path, *sys.argv[1:]]))
    os.execv(path, [path, *sys.argv[1:]])
