"""The layout of the project: imports run downward, each package keeps to its libraries, modules stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "blockviz"
LONGEST_MODULE = 400

# A package may import those of a smaller rank, and itself.
RANKS = {
    "base": -1,
    "diffusion": 0,
    "models": 1,
    "sampling": 2,
    "training": 3,
    "evaluation": 4,
    "views": 5,
    "export": 6,
    "ui": 7,
    "top": 8,  # blockviz/__init__.py, blockviz/__main__.py, app.py
}
PAGE = {"gradio", "gradio_client", "plotly", "fastapi", "starlette"}
NETWORK = {"torch", "safetensors"}
BANNED_LIBRARIES = {
    "base": PAGE | NETWORK | {"numpy", "pandas", "tokenizers"},
    "diffusion": PAGE | {"pandas", "tokenizers"},
    "models": PAGE | {"pandas"},
    "sampling": PAGE,
    "training": PAGE - {"plotly"},
    "evaluation": PAGE - {"plotly"},
    "views": NETWORK | (PAGE - {"plotly"}),
    "export": NETWORK | (PAGE - {"plotly"}),
}
# What views and exports may know of the sampler: the trace and the settings, which need no torch.
TRACE_MODULES = {f"blockviz.sampling.{name}" for name in ("trace", "passes", "settings")}
NEVER = {"pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


def modules() -> list[Path]:
    return [*sorted(PACKAGE.rglob("*.py")), ROOT / "app.py"]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "blockviz" and parts[1] in RANKS else "top"


def imports(path: Path) -> Iterator[str]:
    """Every module that the file imports, by absolute name; `from a import b` gives `a.b` where that is a module."""
    module = name_of(path)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
                parents = parents[: len(parents) - (node.level - 1)]
                base = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                if (base, alias.name) == ("blockviz", "__version__"):
                    continue  # a constant that loads nothing
                candidate = ROOT.joinpath(*base.split("."), alias.name)
                is_module = candidate.with_suffix(".py").exists() or (candidate / "__init__.py").exists()
                yield f"{base}.{alias.name}" if is_module else base


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_the_packages_of_the_layout_are_the_ranked_ones() -> None:
    found = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert found <= RANKS.keys(), "a new package needs a rank in the import order"
    assert {"diffusion", "models", "sampling"} <= found


def test_imports_run_downward() -> None:
    wrong = []
    for path in modules():
        module = name_of(path)
        rank = RANKS[package_of(module)]
        for imported in imports(path):
            if imported != "blockviz" and not imported.startswith("blockviz."):
                continue
            same_package = package_of(imported) == package_of(module)
            if not same_package and RANKS[package_of(imported)] >= rank:
                wrong.append(f"{module} imports {imported}")
    assert wrong == []


def test_packages_import_only_the_libraries_they_may() -> None:
    wrong = []
    for path in modules():
        module = name_of(path)
        banned = BANNED_LIBRARIES.get(package_of(module), set()) | NEVER
        if module in TRACE_MODULES:
            banned |= NETWORK
        wrong += [f"{module} imports {name}" for name in imports(path) if name.split(".")[0] in banned]
    assert wrong == []


def test_views_and_exports_know_only_the_trace() -> None:
    allowed_packages = {"views", "export"}
    wrong = []
    for path in modules():
        module = name_of(path)
        if package_of(module) not in allowed_packages:
            continue
        for name in imports(path):
            if not name.startswith("blockviz"):
                continue
            if name not in TRACE_MODULES and package_of(name) not in {*allowed_packages, "base"}:
                wrong.append(f"{module} imports {name}")
    assert wrong == []


def test_no_code_runs_text() -> None:
    wrong = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in {"eval", "exec"}
            ):
                wrong.append(f"{name_of(path)}:{node.lineno} calls {node.func.id}")
    for path in sorted((ROOT / "assets").glob("*.js")):
        text = path.read_text(encoding="utf-8")
        signs = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function")
        wrong += [f"{path.name} uses {sign}" for sign in signs if sign in text]
    assert wrong == []


def is_table(path: Path) -> bool:
    """Whether a module only lists data (words, constants) and defines nothing that could be split."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return not any(isinstance(node, definitions) for node in ast.walk(tree))


def test_modules_stay_small() -> None:
    files = [path for path in [*modules(), *sorted(ROOT.glob("bench/*.py"))] if not is_table(path)]
    files += sorted((ROOT / "assets").glob("*.js"))
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}


@pytest.mark.slow
def test_every_module_imports() -> None:
    names = [name_of(path) for path in modules()]
    code = (
        f"import importlib\nfor name in {names!r}:\n    importlib.import_module(name)\nprint('all imported')"
    )
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "all imported\n", "an import printed something or ended the program"


@pytest.mark.parametrize("package", ["views", "export", "trace"])
def test_trace_readers_load_no_torch_and_no_gradio(package: str) -> None:
    names = (
        sorted(TRACE_MODULES)
        if package == "trace"
        else [name_of(path) for path in sorted((PACKAGE / package).rglob("*.py"))]
    )
    assert names
    code = (
        f"import importlib, sys\nfor name in {names!r}:\n    importlib.import_module(name)\n"
        "print(sorted({'torch', 'gradio'} & sys.modules.keys()))"
    )
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"
