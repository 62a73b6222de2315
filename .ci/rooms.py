"""Hold the imports of fastclf/ and src_cython/ to the map of rooms in CONTRIBUTING.md: python .ci/rooms.py

A row of the map names a room and the rooms that it may import; "any" allows all. Modules at the root (`_csr`,
`_threads`, ...) may be imported by every room, and may import rooms only if the map has a row for them. Failures: an
import that the map does not allow, an allowed one that does not occur, a room that is not on the map, a room above one
that it imports, and a circle of modules.

Names that an `__init__` only re-exports (`_lazy.attach`) do not count as imports.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROW = re.compile(r"^\| `(\w+)/?` \|(?:[^|]*\|)? *([^|]*?) *\|$", re.MULTILINE)
CIMPORT = re.compile(r"^\s*from (?:fastclf\.)?([\w.]+) cimport|^\s*cimport ([\w.]+)", re.MULTILINE)


def the_map():
    """{room: rooms that it may import, or None for any}, in the order of the map."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    text = text[text.index("## The rooms") :]
    rows = ROW.findall(text[: text.index("\n## ", 1)])
    return {room: None if allowed == "any" else set(re.findall(r"`(\w+)`", allowed)) for room, allowed in rows}


def python_imports(path):
    """The packages, modules and names of fastclf that a Python module imports, anywhere in its text."""
    package = path.relative_to(ROOT / "fastclf").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) + 1 - node.level]
            if node.module:
                base = (*base, *node.module.split("."))
                yield base
            for alias in node.names:
                yield (*base, alias.name)


def cython_imports(path):
    for names in CIMPORT.findall(path.read_text("utf-8")):
        yield tuple(next(filter(None, names)).split("."))


def modules(folder, patterns, imports):
    """{module: modules of the same tree that it imports}."""
    paths = [path for pattern in patterns for path in sorted((ROOT / folder).rglob(pattern))]
    names = {path: path.relative_to(ROOT / folder).with_suffix("").parts for path in paths}
    known = {name[:-1] if name[-1] == "__init__" else name for name in names.values()}
    found = {}
    for path, name in names.items():
        name = name[:-1] if name[-1] == "__init__" else name
        found.setdefault(name, set()).update(set(imports(path)) & known - {name})
    return found


def room_of(module, rooms):
    """The room of a module. For a module at the root: its own name if the map has a row for it, otherwise None."""
    if module == ("__main__",):
        return "cli"
    return module[0] if len(module) > 1 or (module[:1] and module[0] in rooms) else None


def faults(graph, rooms):
    order = list(rooms)
    for module, imported in sorted(graph.items()):
        room = room_of(module, rooms)
        if len(module) > 1 and room not in rooms:
            yield f"{'.'.join(module)}: the room {room} is not on the map"
            continue
        for other in sorted(imported):
            target = room_of(other, rooms)
            if target is None or target == room:
                continue
            arrow = f"{'.'.join(module)} imports {'.'.join(other)}"
            allowed = rooms[room] if room else set()
            if allowed is not None and target not in allowed:
                yield f"{arrow}: {room or 'the root'} may not import {target}"
            elif order.index(target) > order.index(room):
                yield f"{arrow}: {target} is below {room} on the map"


def circle(graph):
    """The modules of a circle of imports, in order; None if there is no circle."""
    state, trail = {}, []

    def visit(module):
        state[module] = "open"
        trail.append(module)
        for other in sorted(graph.get(module, ())):
            if state.get(other) == "open":
                return trail[trail.index(other) :]
            if other not in state:
                found = visit(other)
                if found:
                    return found
        trail.pop()
        state[module] = "done"
        return None

    return next(filter(None, (visit(module) for module in sorted(graph) if module not in state)), None)


def main():
    rooms = the_map()
    told, unused = [], {(room, other) for room, allowed in rooms.items() for other in allowed or ()}
    for folder, patterns, imports in [
        ("fastclf", ["*.py"], python_imports),
        ("src_cython", ["*.pyx", "*.pxd"], cython_imports),
    ]:
        graph = modules(folder, patterns, imports)
        graph.pop((), None)
        told += [f"{folder}: {fault}" for fault in faults(graph, rooms)]
        unused -= {(room_of(module, rooms), room_of(other, rooms)) for module in graph for other in graph[module]}
        found = circle(graph)
        if found:
            told.append(f"{folder}: a circle: {' -> '.join('.'.join(module) for module in [*found, found[0]])}")
    told += [f"{room} imports nothing of {other}, which the map lets it" for room, other in sorted(unused)]
    told += [
        f"{folder.name}/{path.name}: no such room is on the map"
        for folder in (ROOT / "tests", ROOT / "bench", ROOT / "src_cython", ROOT / "fastclf")
        for path in sorted(folder.iterdir())
        if path.is_dir() and path.name not in {*rooms, "include", "__pycache__"}
    ]
    print("\n".join(told) or f"{len(rooms)} rooms: every import is on the map")
    return bool(told)


if __name__ == "__main__":
    sys.exit(main())
