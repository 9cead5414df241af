"""Assemble the kernel of the published model in the page: book/_assets/kernel.wat to lm-kernel.js.

    python book/assemble.py

The bytes stand in the repository, so that a build needs no assembler; a test assembles them again.
They travel in a script, in base64: a page opened from the file system may load nothing else.
"""

import base64
import sys
from pathlib import Path

ASSETS = Path(__file__).parent / "_assets"
SOURCE, SCRIPT = ASSETS / "kernel.wat", ASSETS / "lm-kernel.js"
HEAD = "/* The bytes of kernel.wat in base64. Made by `python book/assemble.py`; do not edit. */\n"


def script_of(source: str) -> str:
    """Return the script that holds the assembled text.

    Raises:
        ModuleNotFoundError: if the assembler is missing, with what installs it.
        ValueError: if the text is no module; says where.
    """
    try:
        import wasmtime
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "WebAssembly is assembled by the library wasmtime: pip install wasmtime==50.0.1",
            name=error.name,
        ) from error
    try:
        assembled = bytes(wasmtime.wat2wasm(source))
    except wasmtime.WasmtimeError as error:
        raise ValueError(f"{SOURCE.name} cannot be assembled: {error}") from error
    return f'{HEAD}lm.KERNEL = "{base64.b64encode(assembled).decode()}";\n'


def main() -> int:
    """Write the script and say how many bytes it holds."""
    script = script_of(SOURCE.read_text(encoding="utf-8"))
    SCRIPT.write_text(script, encoding="utf-8")
    print(f"{SCRIPT}: {len(base64.b64decode(script.split(chr(34))[1]))} bytes assembled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
