"""Sections of a document whose heading is the question come before lists that repeat its words."""

from tests.e2e.machine import Machine

PARTS = ("Button", "Dialog", "Form", "Table", "Toast")
BODIES = {
    "Dialog": "It wraps the headless primitive and takes `open` from its parent. Put the title into `DialogTitle`, even if it "
    "is hidden, because screen readers announce it. The page keeps the open state. Escape must not lose typed text.",
    "Form": "The schema of the API is passed to `useForm`, and the resolver shows messages below each field.",
    "Table": "Columns are declared outside of the render function. Sorting happens on the server from 200 rows on.",
}
GUIDE = "\n\n".join(
    [
        "# Working on the shop",
        "## Components at a glance",
        "\n".join(
            f"- {part} component: in `ui/{part.lower()}.tsx`, used by every {part.lower()} of the app." for part in PARTS
        ),
        "- Every component is written in TypeScript; write a component once and reuse it.",
        *(f"## {part} Component\n\n{body}" for part, body in BODIES.items()),
        "## Checklist before review",
        "- The component has a story, a dialog component also one of it open.\n- Forms show errors.\n- Tables are sorted.",
    ]
)


def test_a_section_named_as_the_question_comes_first(bare: Machine) -> None:
    folder = bare.repository("shop", "git@github.com:acme/shop.git")
    (folder / "guide.md").write_text(GUIDE)
    assert bare.run("import", "guide.md", "--trust", "user", cwd=folder).code == 0
    for part in BODIES:
        question = f"how do I write a {part.lower()} component?"
        first = bare.rows("search", "--fast", "--jsonl", question, cwd=folder)[0]
        assert first["content"].startswith(f"Working on the shop > {part} Component\n")
        assert bare.recall(question, cwd=folder)[0] == first["id"]
