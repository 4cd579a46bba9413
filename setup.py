"""What is installed: the library; and in editable mode, where there is the rest of the book, its experiments too."""

import sys

from setuptools import find_packages, setup

# A wheel without records and claims has no use for them, and the name belongs to nobody.
folders = {"shallow": "lib"} | ({"experiments": "."} if "editable_wheel" in sys.argv else {})
setup(
    packages=[one for name, folder in folders.items() for one in find_packages(folder, include=[f"{name}*"])],
    package_dir={name: f"{folder}/{name}" for name, folder in folders.items()},
)
