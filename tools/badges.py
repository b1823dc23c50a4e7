"""Draw the badges of the README from facts of the repository: `make reference`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images" / "badges"
BLUE, GREEN, AMBER = "#2450c8", "#12693a", "#7d5000"


def badges() -> dict[str, str]:
    """Return the badges by their file names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: "
    versions = [name.removeprefix(prefix) for name in project["classifiers"] if name.startswith(prefix)]
    status = next(name for name in project["classifiers"] if name.startswith("Development Status")).split(" - ")[1]
    steps = sum(json.loads((ROOT / "tests/conformance/floors.json").read_text()).values())
    return {
        "python.svg": draw("python", " | ".join(versions), BLUE),
        "licence.svg": draw("licence", project["license"], BLUE),
        "conformance.svg": draw("exact conformance steps", f"{steps:,}", GREEN),
        "kubernetes.svg": draw("kube-apiserver", "1.36", BLUE),
        "status.svg": draw("status", status.lower(), AMBER),
    }


def draw(label: str, value: str, colour: str) -> str:
    """Return a badge with two parts. The width of the text is set, so that every font fits."""
    left, right = (len(text) * 6.3 + 12 for text in (label, value))
    width = left + right
    part = 'height="20" fill="{}"/>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="20" role="img" aria-label="{label}">',
            f"<title>{label}: {value}</title>",
            f'<clipPath id="r"><rect width="{width:.0f}" height="20" rx="4"/></clipPath>',
            f'<g clip-path="url(#r)"><rect width="{left:.0f}" {part.format("#3c4451")}',
            f'<rect x="{left:.0f}" width="{right:.0f}" {part.format(colour)}</g>',
            """<g fill="#fff" text-anchor="middle" font-family="Verdana, 'DejaVu Sans', sans-serif" font-size="11">""",
            f'<text x="{left / 2:.1f}" y="14" textLength="{left - 12:.0f}">{label}</text>',
            f'<text x="{left + right / 2:.1f}" y="14" textLength="{right - 12:.0f}">{value}</text>',
            "</g></svg>",
            "",
        ]
    )


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, svg in badges().items():
        (FOLDER / name).write_text(svg)


if __name__ == "__main__":
    main()
