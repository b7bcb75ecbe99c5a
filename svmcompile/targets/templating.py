"""The text of generated files: templates, and names and comments that do no harm."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from svmcompile.errors import EmitError, OptionError

MAX_NAME = 48
MAX_LINE = 120
VALID = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
    class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield
    decltype default delete do double dynamic_cast else enum explicit export extern false float for friend
    goto if import inline int long module mutable namespace new noexcept not not_eq nullptr operator or
    or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
    typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
    """.split()
)
# A file `math.h` beside the user's code would hide the system's, also from other headers of the system.
HEADERS = frozenset(
    """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg
    stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time
    uchar wchar wctype

    aio alloca byteswap cpio dirent dlfcn elf endian err error execinfo fcntl features fnmatch
    ftw getopt glob grp iconv langinfo libgen libintl link malloc memory monetary mqueue ndbm netdb
    newlib nl_types paths poll pthread pwd reent regex resolv sched search semaphore spawn strings
    stropts sysexits syslog tar termios trace ucontext ulimit unistd utime utmpx values wait wordexp

    arduino arm_acle arm_fp16 arm_mve arm_neon arm_sve basetsd corecrt cpuid crtdefs intrin io
    mm_malloc process riscv_vector sal vadefs vcruntime windows
    """.split()
)
INTRINSICS = "intrin"  # ends the names of headers of compilers


def template_folder() -> Path:
    """`templates/` inside the package (installed) or beside it (checkout, editable install)."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "templates", package.parent / "templates"):
        if (folder / "c" / "model.c.j2").is_file():
            return folder
    raise EmitError("the templates are missing; reinstall svmcompile")


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(template_folder()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    found.filters["folded"] = folded
    return found


def folded(declaration: str) -> str:
    """A declaration whose parameters have a line of their own where one line is too short for all."""
    return declaration.replace("(", "(\n    ", 1) if len(declaration) >= MAX_LINE else declaration


def render(template: str, context: dict[str, Any]) -> str:
    """The text of a template."""
    text: str = _environment().get_template(template).render(context)
    return text


def render_folder(folder: str, context: dict[str, Any]) -> dict[str, str]:
    """The text of every template below a folder, by its path without `.j2`; NAME there is the model's."""
    start = template_folder() / folder
    paths = sorted(path.relative_to(start).as_posix() for path in start.rglob("*.j2"))
    return {
        path.removesuffix(".j2").replace("NAME", str(context["name"])): render(f"{folder}/{path}", context)
        for path in paths
    }


def check_name(name: str) -> str:
    """The name, if it can prefix C identifiers and name files."""
    if not VALID.fullmatch(name) or len(name) > MAX_NAME:
        raise OptionError(
            f"the name {name[:MAX_NAME]!r} cannot be used in C; choose a letter followed by letters, "
            f"digits and underscores, at most {MAX_NAME} characters (--name)"
        )
    if is_taken(name):
        raise OptionError(
            f"the name {name!r} is a keyword or a system header in C; choose another (--name)"
        )
    return name


def is_taken(name: str) -> bool:
    """Whether C, its library, or headers that this includes have the name."""
    plain = name.lower()
    return plain in KEYWORDS or plain in HEADERS or plain.endswith(INTRINSICS)


def name_from(text: str) -> str:
    """A valid name close to any text, such as a file's stem."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[: MAX_NAME - 6]
    if not plain or not plain[0].isalpha():
        plain = f"svm_{plain}".rstrip("_")
    if is_taken(plain):
        plain += "_svm"
    return check_name(plain)


def comment(text: str) -> str:
    """Text that cannot end a C comment, start one, continue a line or hide what it says."""
    plain = text.encode("ascii", "backslashreplace").decode()
    plain = "".join(ch if ch.isprintable() else repr(ch)[1:-1] for ch in plain)
    plain = plain.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
    return plain + " " if plain.endswith("\\") else plain


class Names:
    """Identifiers by key; a taken or reserved one gets a number."""

    def __init__(self, reserved: frozenset[str] = frozenset(), prefix: str = "") -> None:
        self._taken = set(reserved)
        self._prefix = prefix
        self._by_key: dict[str, str] = {}

    def __call__(self, key: str, wish: str | None = None) -> str:
        if key not in self._by_key:
            wanted, number = wish or key, 2
            free = wanted
            while free in self._taken:
                free, number = f"{wanted}_{number}", number + 1
            self._taken.add(free)
            self._by_key[key] = self._prefix + free
        return self._by_key[key]
