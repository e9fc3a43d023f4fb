"""What `remember` says, whose memories `list` shows, and when `forget` asks first."""

from tests.e2e.machine import OTHER_REMOTE, PROJECT, REMOTE, Machine, posix
from tests.e2e.screen import OnTerminal

OLD = (
    "The upload timeout is 30 seconds, because the load balancer drops idle sockets; large files are sent in parts."
    + " Ask ops." * 20
)
NEW = "The upload timeout is 45 s."


def remembered(machine: Machine, *arguments: str) -> str:
    done = machine.run("remember", *arguments)
    assert done.code == 0, done.stderr
    return done.stdout.decode().strip()


def ids(machine: Machine, *options: str) -> list[str]:
    return machine.run("list", "--ids", *options).stdout.decode().split()


def test_it_says_where_a_memory_went_and_when_it_comes(bare: Machine) -> None:
    shop = bare.repository("harbour", REMOTE)
    done = bare.run("remember", "Cranes are tested every March.", "-s", "decisions", cwd=shop)
    assert done.stderr.decode() == f"kept in decisions of {PROJECT}; it comes when a prompt is about it\n"
    done = bare.run("remember", "Berths have numbers.", "--trigger", r"\bberth", "--path", "src/db/**", "--when", "branch=main")
    told = done.stderr.decode().splitlines()[0]
    assert told == (
        "kept in learnings, for all your projects; it comes when a prompt is about it, "
        r"when a prompt or a command matches \bberth, or when a tool touches src/db/**, only while branch=main"
    )


def test_a_named_project_is_listed_without_user_notes(bare: Machine) -> None:
    mine = remembered(bare, "Use tabs in all my projects.", "--user")
    theirs = remembered(bare, "The shop is closed on Mondays.", "--project", OTHER_REMOTE)
    assert ids(bare, "--project", OTHER_REMOTE) == [theirs]
    assert set(ids(bare, "--all-projects")) == {mine, theirs}


@posix
def test_memories_are_purged_only_when_that_is_confirmed(bare: Machine) -> None:
    stored = [remembered(bare, text) for text in ("Cranes are tested every March.", "The gate code is changed weekly.")]
    done = bare.run("forget", "--purge", *stored)
    assert (done.code, done.stderr.count(b"\n"), b"--yes" in done.stderr) == (2, 1, True)
    for answer, left in (("n\n", 2), ("y\n", 0)):
        asked = OnTerminal([bare.command, "forget", "--purge", *stored], bare.folder, bare.environment)
        asked.read_until("for good?")
        asked.type(answer)
        assert asked.end() == (1 if left else 0)
        assert len(ids(bare)) == left


def test_a_text_with_hardly_a_letter_is_refused(bare: Machine) -> None:
    for text in ("ab", "- 1 -", "?!…"):
        done = bare.run("remember", "--", text)
        assert (done.code, done.stderr.count(b"\n")) == (2, 1)
        assert b"is too short to be found again; write a sentence" in done.stderr
    assert remembered(bare, "Vim")


def test_a_contradicted_note_is_shown_whole(bare: Machine) -> None:
    for old, new, difference in (
        (OLD, NEW, "30 s there, 45 s here"),
        ("Deploys happen on Fridays.", "Deploys never happen on Fridays.", "it says the opposite"),
        ("We use Vitest for unit tests.", "We use Jest for unit tests.", "Vitest there, Jest here"),
        ("We use NATS JetStream, not Kafka", "We use Kafka for locker events", "not Kafka there, Kafka here"),
    ):
        before = remembered(bare, old)
        done = bare.run("remember", new)
        told = done.stderr.decode()
        assert f"contradicts it: {difference}: {before} {old.strip()}\n" in told
        assert f"subcog supersede {before} {done.stdout.decode().strip()}" in told
    remembered(bare, "The EU cluster keeps logs for 30 days")
    assert b"contradicts" not in bare.run("remember", "The US cluster keeps logs for 90 days").stderr
