"""A session begins without notes whose own words tie them to another system, branch, folder or time."""

import sys

from tests.e2e.machine import NO_BRIEF, OWNER, SHOP, Machine, ids_in

OTHER_SYSTEM, OUR_SYSTEM = ("Linux", "macOS") if sys.platform == "darwin" else ("macOS", "Linux")
ELSEWHERE = (
    f"On {OTHER_SYSTEM} the tests need ulimit -n 4096.",
    f"The person works on {OTHER_SYSTEM}; the toolchain is in ~/toolchain.",
    f"Fonts differ ({OTHER_SYSTEM}): run the visual tests in the container.",
    "On branch legacy-api the build uses Python 3.8.",
    "Only cherry-picks go in on the `release/2.1` branch.",
    "In web/ packages are installed with pnpm.",
    "Nothing is deployed until 2024-03-01.",
    "The old login stays until 5 May 2024 for partners.",
)
HERE = (
    f"On {OTHER_SYSTEM} and {OUR_SYSTEM} the tests use rg.",
    f"On {OUR_SYSTEM} the tests use half of the cores.",
    "The app is tested in Safari, and windows close on Escape.",
    "On branch fix/tax the rates come from the fixture.",
    "Never push to the `main` branch by hand.",
    "In mobile/ packages are installed with yarn.",
    "In web/ it is pnpm that installs, in mobile/ yarn.",
    "In FastAPI fixed paths come before patterns.",
    "Invoices of 1 March 2024 have no tax number.",
    "The certificate is valid until 2999-01-01.",
)


def test_a_session_begins_without_notes_for_elsewhere(bare: Machine) -> None:
    shop = bare.repository("shop", SHOP)
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/fix/tax\n")
    for folder in ("web", "mobile"):
        (shop / folder).mkdir()
    notes = {f"e{n}": note for n, note in enumerate(ELSEWHERE)} | {f"h{n}": note for n, note in enumerate(HERE)}
    bare.imports(*[{"id": id_, "content": note, "project": OWNER} for id_, note in notes.items()])
    bare.environment[NO_BRIEF] = "3000"
    begun = ids_in(bare.begun("startup", "s", shop / "mobile"))
    assert sorted(begun) == sorted(id_ for id_ in notes if id_.startswith("h"))
    assert ids_in(bare.run("brief", cwd=shop / "mobile").stdout.decode()) == begun
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/legacy-api\n")
    begun = ids_in(bare.begun("startup", "t", shop))
    assert "e3" in begun  # its branch
    assert "e5" in begun  # its folder is in the session's
