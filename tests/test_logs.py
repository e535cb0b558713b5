"""Tests for ``rescriptum.logs`` and the events it formats, ``rescriptum.boot.events``."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

from attrs import fields
from twisted.logger import LogEvent, Logger, LogLevel, capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.events import AnswerSent
from rescriptum.boot import events
from rescriptum.cli.reference import public_events
from rescriptum.errors import ConfigError
from rescriptum.logs import Lines, json_line, observer, opened, text_line
from rescriptum.values import MAC

PEER = ("192.0.2.7", 2070)
ANSWER = AnswerSent(
    peer=PEER,
    method="GET",
    target="/ipxe/boot?mac=52:54:00:12:34:56",
    body=0,
    mac=MAC("525400123456"),
    status=200,
    seconds=0.001,
    family="text",
    machine="525400123456",
    group="",
    size=123,
)
PROBE = events.LoaderProbed(
    peer=PEER, loader="ipxe-x86_64.efi", size=1000, sent=0, seconds=0.1, outcome="probe"
)
REFUSED = events.LoaderRefused(peer=PEER, loader="x", code="not-found", reason="")


def _any(kind: type[events.Event]) -> events.Event:
    values: dict[str, Any] = {each.name: 0 for each in fields(kind)}
    return kind(**values)


class LinesCase(SynchronousTestCase):
    def lines(self, show: str, *recorded: events.Event) -> list[str]:
        out = StringIO()
        log = Logger("rescriptum.test", observer=Lines(out, show))
        for each in recorded:
            events.record(log, each)
        return out.getvalue().splitlines()


class TextTests(LinesCase):
    def test_a_line_is_time_peer_and_sentence(self) -> None:
        [line] = self.lines("all", ANSWER)
        self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ 192\.0\.2\.7:2070 GET /ipxe/boot")
        self.assertTrue(line.endswith("200 format=text machine=525400123456 group= bytes=123"))

    def test_an_ipv6_peer_has_brackets(self) -> None:
        peer = ("2001:db8::7", 2070)
        [line] = self.lines("all", events.LoaderAsked(peer=peer, loader="x", options=""))
        self.assertIn(" [2001:db8::7]:2070 ", line)

    def test_a_stranger_cannot_begin_a_line(self) -> None:
        """A file name with a line end in it is shown as one, in one line."""
        [line] = self.lines(
            "all", events.LoaderAsked(peer=PEER, loader="a\n2026 forged\x1b[2J", options="")
        )
        self.assertIn(r"a\x0a2026 forged\x1b[2J", line)

    def test_problems_alone(self) -> None:
        """What went well is left out; what did not, and the server's own lines, stay."""
        self.assertEqual(len(self.lines("problems", ANSWER, REFUSED)), 1)

    def test_a_size_probe_is_noise(self) -> None:
        """W100: firmware asks for the size and goes away; that is nobody's problem."""
        self.assertEqual(self.lines("all", PROBE), [])

    def test_a_failure_shows_its_traceback_once(self) -> None:
        event: LogEvent = {
            "log_time": 0.0,
            "log_level": LogLevel.critical,
            "log_format": "broken",
            "log_failure": Failure(ValueError("why")),
        }
        text = text_line(event)
        assert text is not None
        self.assertIn("- critical: broken\n", text)
        self.assertIn("ValueError: why", text)


class FileTests(SynchronousTestCase):
    def test_appends_and_makes_parents(self) -> None:
        path = Path(self.mktemp()) / "deep" / "log"
        for _ in range(2):
            with opened(str(path)) as file:
                file.write("line\n")
        self.assertEqual(path.read_text(), "line\nline\n")

    def test_a_file_that_cannot_be_opened_is_said(self) -> None:
        with self.assertRaisesRegex(ConfigError, "RESCRIPTUM_LOG_FILE"):
            observer("all", "/dev/null/log")

    def test_off_writes_nothing(self) -> None:
        seen = observer("off", "/dev/null/log")
        events.record(Logger("rescriptum.test", observer=seen), REFUSED)


class EventTests(SynchronousTestCase):
    def test_every_event_is_told_apart(self) -> None:
        names = [each.name for each in public_events()]
        self.assertEqual(len(names), len(set(names)))
        for each in public_events():
            self.assertTrue(each.name.startswith(f"{each.link}.") or "." in each.name)

    def test_an_event_whose_time_is_known(self) -> None:
        """It is the same event in every field as one that asks for the time."""
        log = Logger("rescriptum.test")
        for event in (ANSWER, REFUSED, PROBE, *map(_any, public_events())):
            with capturedLogs() as seen:
                events.record(log, event)
                events.record(log, event, 1_700_000_000.25)
            asked, told = seen
            self.assertEqual(told.pop("log_time"), 1_700_000_000.25)
            self.assertIsInstance(asked.pop("log_time"), float)
            names = [*(each.name for each in fields(type(event))), "event", "link", "problem"]
            names += ["log_logger", "log_level", "log_namespace", "log_source", "log_format"]
            for name in names:
                self.assertEqual(told[name], asked[name])
            self.assertEqual(told.keys(), asked.keys())

    def test_every_sentence_names_fields_that_exist(self) -> None:
        """A misspelt field would show up as an unformattable line at three in the morning."""
        for each in public_events():
            values = {field.name: 0 for field in fields(each)}
            self.assertTrue(each.sentence.format(**values))

    def test_no_field_takes_a_name_of_the_logger(self) -> None:
        """``Logger.emit`` has parameters of its own."""
        for each in public_events():
            names = {field.name for field in fields(each)}
            self.assertEqual(names & {"level", "format", "event", "link", "problem", "text"}, set())

    def test_json_has_every_field(self) -> None:
        seen: list[LogEvent] = []
        events.record(Logger("rescriptum.test", observer=seen.append), ANSWER)  # type: ignore[arg-type]
        loaded = json.loads(json_line(seen[0]) or "")
        self.assertEqual(loaded["event"], "answer.sent")
        for field in fields(AnswerSent):
            self.assertIn(field.name, loaded)
        self.assertEqual(loaded["mac"], "52:54:00:12:34:56")

    def test_json_without_factories(self) -> None:
        """Twisted's own words about each connection are nobody's news."""
        event = {"log_namespace": "twisted.web.client._HTTP11ClientFactory", "factory": "x"}
        self.assertIsNone(json_line(event))
        ours = {
            **event,
            "log_namespace": "rescriptum.x",
            "log_time": 0.0,
            "log_level": LogLevel.info,
        }
        self.assertIn('"factory"', json_line(ours) or "")

    def test_json_has_one_kind_of_time(self) -> None:
        """Twisted's older events carry a ``time`` of their own, a number."""
        seen: list[LogEvent] = []
        Logger("log_legacy", observer=seen.append).info("x", time=1.5)  # type: ignore[arg-type]
        self.assertRegex(json.loads(json_line(seen[0]) or "")["time"], r"^\d{4}-\d\d-\d\dT")
