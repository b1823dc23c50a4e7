"""Record `polykind prove` finding a loss, as an animated SVG: `make recording`.

The files and the command are those of docs/tutorials/crd-author.md. The SVG loads nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "tutorials" / "crd-author.md"
RECORDING = ROOT / "docs" / "images" / "prove.svg"
WIDTH = 100
# The colours of design.css, dark: grey, red, green, amber, blue, violet, cyan, white.
COLOURS = [
    (42, 48, 58),
    (255, 159, 151),
    (118, 220, 160),
    (242, 202, 109),
    (148, 180, 255),
    (197, 160, 255),
    (120, 210, 220),
    (231, 234, 240),
]
THEME = TerminalTheme((14, 17, 22), COLOURS[-1], COLOURS, [(160, 169, 182), *COLOURS[1:]])


def files() -> dict[str, str]:
    """Return the files that the tutorial has when it runs the first proof."""
    text = TUTORIAL.read_text().partition("$ polykind prove")[0]
    return dict(re.findall(r"^```yaml\n# (\S+)\n(.*?)^```$", text, re.S | re.M))


def command() -> str:
    """Return the first proof of the tutorial."""
    found = re.search(r"^\$ (polykind prove .*)$", TUTORIAL.read_text(), re.M)
    assert found is not None
    return found[1]


def record() -> str:
    """Run the command in a folder with the files and return its output, with colours."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files().items():
            (Path(folder) / name).write_text(text)
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "FORCE_COLOR": "1",
            "COLUMNS": str(WIDTH),
        }
        done = subprocess.run(
            ["bash", "-c", command()], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 1, f"the proof should fail:\n{done.stdout}{done.stderr}"
    return done.stdout


def shown(output: str) -> list[str]:
    """Return the lines to show: the table of properties, the first finding, the losses and the verdict."""
    lines = output.rstrip().split("\n")
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    first = next(n for n, line in enumerate(plain) if line.startswith("back-and-there, v2 to v1"))
    second = next((n for n, line in enumerate(plain) if line.startswith("output-settled, v2 to v1")), len(plain))
    lost = next(n for n, line in enumerate(plain) if line.startswith("lost on the way"))
    finding = [lines[n] for n in range(first, second) if "Run again:" not in plain[n]]
    return [*lines[:first], *finding, *lines[lost:]]


def render(lines: list[str]) -> str:
    """Return the terminal with these lines as an SVG in which they appear one after the other."""
    console = Console(record=True, width=WIDTH, file=Path(os.devnull).open("w"), force_terminal=True)  # noqa: SIM115
    console.print(Text.assemble(("$ ", "bold bright_blue"), (command(), "bold")))
    for line in lines:
        console.print(Text.from_ansi(line), soft_wrap=False, overflow="ellipsis", no_wrap=True)
    svg = console.export_svg(title="polykind prove", theme=THEME, unique_id="prove")
    # The template of rich loads a font from another host.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    svg = svg.replace("Fira Code, monospace", "ui-monospace, 'Liberation Mono', Menlo, Consolas, monospace")
    delays = [
        f'[clip-path="url(#prove-line-{n})"] {{ animation-delay: {1.2 + n * 0.06:.2f}s }}'
        for n in range(1, len(lines) + 2)
    ]
    style = "\n".join(
        [
            "@media (prefers-reduced-motion: no-preference) {",
            '[clip-path^="url(#prove-line-"] { animation: appear 0.01s 0.3s both }',
            *delays,
            "@keyframes appear { from { visibility: hidden } to { visibility: visible } }",
            "}",
            "</style>",
        ]
    )
    return svg.replace("</style>", style, 1)


def main() -> None:
    RECORDING.write_text(render(shown(record())) + "\n")


if __name__ == "__main__":
    main()
