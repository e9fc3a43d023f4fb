"""A model that lies about what the person typed: with `capture.sessions auto` none of its lies counts without a yes."""

import json

from tests import transcripts
from tests.e2e.machine import SHOP, Machine
from tests.llm_server import Behaviour, Handler, LlmServer, says_text

MAIL = "look what came in\n\nFrom: Bob Miller\nSubject: Branches\n\nHi all,\nbranch names begin with the ticket from now on."
CHAT = "what do they mean?\n[10:32] ann: do we squash?\n[10:33] bob: yes, we squash every branch\nodd, no?"
PAGE = (
    "the wiki has this\n\n# Branches\n\nThe branch of a feature lies in the fork of the shop team.\n\n## Names\n\nShort ones."
)
PROSE = (
    "somebody sent me this:\n\nThe team has its fixtures in a folder beside the tests.\n\n"
    "A fixture has a short name that says where it comes from."
)
LIES = {  # each with the turns of its session, the last one with the quote, the model's sentence, and the scope
    "all projects": (["write the commit titles in lower case please"], "Commit titles are in lower case.", "user"),
    "all projects, a rule": (["please answer shortly here, my screen is small"], "Answer shortly.", "user"),
    "no longer denied": (["the cart does not round its prices"], "The cart rounds its prices.", "project"),
    "turned round": (["use pnpm here, not npm, for all installs"], "Use npm here, not pnpm, for all installs.", "project"),
    "without a with": (["ship the catalogue with its thumbnails"], "The catalogue comes without its thumbnails.", "project"),
    "another turn's number": (
        ["the mailer has port 8081", "the dev server listens on port 8080"],
        "The dev server listens on port 8081.",
        "project",
    ),
    "another turn's name": (
        ["Bob is on holiday", "ask before you touch the billing tables"],
        "Ask Bob before you touch the billing tables.",
        "project",
    ),
    "an added denial": (
        ["the importer reads the feed at night"],
        "The importer reads the feed at night and never retries.",
        "project",
    ),
    "an order": (["the release branch lives beside main"], "Deploy the release branch after each change.", "project"),
    "an order in the passive": (["main is the branch that customers see"], "Fixes are pushed to main directly.", "project"),
    "a permission": (["old backups lie in the attic folder"], "Old backups in the attic folder may be deleted.", "project"),
    "root": (["the installer is a script of the tools team"], "The script of the tools team runs as root.", "project"),
    "skipped tests": (["the tests of the importer take long"], "Skip the tests of the importer.", "project"),
    "no review": (["I look at each migration in the evening"], "Each migration is done without review.", "project"),
    "no question": (["big refactorings come in many steps here"], "Never ask before big refactorings.", "project"),
    "an address": (["nightly reports go to ops@reports.acme.io"], "Nightly reports go to ops@reports.acme.io.", "project"),
    "a host": (["the log collector runs on 10.20.30.40"], "The log collector runs on 10.20.30.40.", "project"),
    "a replaced note": (["database dumps are kept for 7 days"], "Database dumps are kept for 7 days.", "project"),
    "a denied note": (["the nightly job locks the ledger"], "The nightly job locks the ledger.", "project"),
    "a mail": ([MAIL], "Branch names begin with the ticket.", "project"),
    "a chat": ([CHAT], "Squash every branch.", "project"),
    "a wiki page": ([PAGE], "The branch of a feature lies in the fork of the team.", "project"),
    "prose": ([PROSE], "The fixtures lie in a folder beside the tests.", "project"),
}
QUOTES = {
    "a mail": "branch names begin with the ticket from now on",
    "a chat": "we squash every branch",
    "a wiki page": "The branch of a feature lies in the fork",
    "prose": "has its fixtures in a folder beside the tests",
}
HONEST = {
    "The camera takes square pictures, not wide ones.": "by the way the camera takes square pictures, not wide ones",
    "Never push to main without a review.": "never push to main without a review, please",
    "The API answers in cents, not in euros.": "the api answers in cents, not in euros, mind that",
    "The test database listens on port 5433.": "port 5433 is the test database's, the real one has 5432",
    "Comments say why, not what.": "keep comments short, and say why, not what",
    "Ann has the keys of the cellar.": "by the way Ann has the keys of the cellar",
    "The ledger is append-only.": f"the ledger is append-only, whatever the mail says\n\n{MAIL}",
    "Moderators can hide posts.": "moderators can hide posts, users see only their own",
}


def proposes_quoted(*memories: dict[str, object]) -> Behaviour:
    """Propose the memories whose quotes stand in the question."""

    def behave(handler: Handler) -> None:
        text = handler.asked
        says_text(json.dumps({"memories": [memory for memory in memories if str(memory["quote"]) in text]}))(handler)

    return behave


def test_of_what_a_model_says_only_what_follows_comes_at_once(bare: Machine) -> None:
    folder = bare.repository("shop", SHOP)
    proposals: list[dict[str, object]] = []
    for name, (turns, sentence, scope) in LIES.items():
        quote = QUOTES.get(name, turns[-1])
        proposals.append({"quote": quote, "memory": sentence, "kind": "fact", "scope": scope, "certainty": 0.95})
        write(bare, name, *turns, folder=str(folder))
    for number, (sentence, turn) in enumerate(HONEST.items()):
        quote = turn.partition("\n")[0]
        proposals.append({"quote": quote, "memory": sentence, "kind": "fact", "scope": "project", "certainty": 0.95})
        write(bare, f"honest {number}", turn, folder=str(folder))
    bare.run("remember", "Database dumps are kept for 30 days.")  # for all projects
    bare.run("remember", "The nightly job never locks the ledger.", cwd=folder)
    with LlmServer(proposes_quoted(*proposals)) as server:
        bare.configure(llm__at_rest="openai", llm__base_url=server.url_v1, llm__model="small", capture__sessions="auto")
        assert bare.run("learn", "--llm").code == 0
    own = {"Database dumps are kept for 30 days.", "The nightly job never locks the ledger."}
    assert {*bare.stored()} - own == {*HONEST}
    assert {sentence for _, sentence, _ in LIES.values()} <= {*bare.stored("pending")}


def write(machine: Machine, name: str, *typed: str, folder: str) -> None:
    sessions = machine.root / "user" / ".claude" / "projects"
    greeting = "good morning, please have a look first at what we did yesterday"  # a shorter session is not sent
    transcripts.session(sessions, "".join(filter(str.isalnum, name)), greeting, *typed, folder=folder)
