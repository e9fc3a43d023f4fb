"""Libraries that are loaded late or not at all."""

import subprocess
import sys

SCRIPT = """
import sys
from subcog_hooks.core.quiet_imports import DeferredImport

with DeferredImport("colorsys", ONE_THIRD=0):
    import colorsys as late
    assert late.ONE_THIRD == 0
assert "colorsys" not in sys.modules
assert late.rgb_to_hls(1.0, 1.0, 1.0)[1] == 1.0
import colorsys
assert colorsys.ONE_THIRD == 1 / 3
assert late is not colorsys

with DeferredImport("colorsys"):
    import colorsys as again
    assert again is colorsys

with DeferredImport("sched"):
    import sched as asked
    assert asked.scheduler
    import sched
    assert sched is not asked

with DeferredImport("xml"), DeferredImport("xml.etree", Tree=int):
    from xml.etree import Tree
    from xml.etree import __path__ as place
    from xml import dom
assert Tree is int
assert place
import xml.etree
assert xml.dom is dom
assert not hasattr(xml.etree, "Tree")
"""


def test_deferred_library_is_loaded_when_an_attribute_is_used() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)


def test_redaction_loads_nothing_that_asks_servers() -> None:
    script = "import sys; from subcog_hooks.redaction.redact import redact; redact('sk'); print('requests' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, encoding="utf-8").stdout == "False\n"
