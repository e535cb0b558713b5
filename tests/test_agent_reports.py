"""Tests for ``rescriptum.agent.reports``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.reports import PROGRESS, Reporter
from rescriptum.contract.reports import Discovered, Progress, SectionStatus, State, StatusReport

CACHE = SectionStatus("cache", State.CONVERGING, "pulling", {"bytes": 1})
SITE = SectionStatus("site", State.READY, "", {"lease": {"epoch": 1, "heard_ms_ago": 5}})


class ReporterTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.reporter = Reporter()
        self.reporter.section(CACHE)
        self.reporter.section(SITE)
        self.first = self.reporter.take(100)

    def test_everything_at_first(self) -> None:
        """A gateway may know nothing."""
        self.assertEqual(self.first, StatusReport((CACHE, SITE)))
        self.assertEqual(self.reporter.sections, (CACHE, SITE))

    def test_nothing_to_say(self) -> None:
        """No report of nothing, at no time."""
        reporter = Reporter()
        self.assertIsNone(reporter.due(0))
        self.assertIsNone(reporter.take(1000))

    def test_on_change(self) -> None:
        """What has changed, and nothing else; at most once a second."""
        ready = SectionStatus("cache", State.READY)
        self.reporter.section(ready)
        self.reporter.section(SITE)
        self.assertEqual(self.reporter.due(100.25), 0.75)
        self.assertIsNone(self.reporter.take(100.25))
        self.assertEqual(self.reporter.take(101), StatusReport((ready,)))
        self.assertIsNone(self.reporter.take(102))

    def test_each_minute(self) -> None:
        """All of it, though nothing has changed."""
        self.assertEqual(self.reporter.due(101), 59)
        self.assertIsNone(self.reporter.take(159))
        self.assertEqual(self.reporter.take(160), StatusReport((CACHE, SITE)))
        self.assertEqual(self.reporter.due(160), 60)

    def test_ages_are_no_change(self) -> None:
        """The newest is told with whatever is told next."""
        older = SectionStatus("site", State.READY, "", {"lease": {"epoch": 1, "heard_ms_ago": 900}})
        self.reporter.section(older)
        self.assertIsNone(self.reporter.take(150))
        self.reporter.section(SectionStatus("site", State.READY, "", {"lease": {"epoch": 2}}))
        report = self.reporter.take(151)
        assert report is not None
        self.assertEqual(len(report.sections), 1)

    def test_inventory_and_discovered(self) -> None:
        """On change, and each minute."""
        machine = Discovered("52:54:00:12:34:56")
        self.reporter.inventory({"images": 1})
        self.reporter.discovered((machine,))
        said = StatusReport((), {"images": 1}, (machine,))
        self.assertEqual(self.reporter.take(101), said)
        self.reporter.inventory({"images": 1})
        self.reporter.discovered((machine,))
        self.assertIsNone(self.reporter.take(103))
        report = self.reporter.take(160)
        assert report is not None
        self.assertEqual((report.inventory, report.discovered), ({"images": 1}, (machine,)))

    def test_progress(self) -> None:
        """At most once a second a command: what came between is not told."""
        for percent in range(5):
            self.reporter.progress("c1", {"percent": percent})
        self.assertEqual(
            self.reporter.take(101), StatusReport((), progress=(Progress("c1", {"percent": 4}),))
        )
        self.assertIsNone(self.reporter.take(102))

    def test_progress_of_many(self) -> None:
        """So many commands; those that said something longest ago are dropped."""
        for number in range(PROGRESS + 5):
            self.reporter.progress(f"c{number}", {})
        report = self.reporter.take(101)
        assert report is not None
        self.assertEqual(len(report.progress), PROGRESS)
        self.assertEqual(report.progress[0].command_id, "c5")

    def test_a_new_session(self) -> None:
        """Says everything."""
        self.reporter.begin_session()
        self.assertEqual(self.reporter.take(101), StatusReport((CACHE, SITE)))

    def test_not_heard(self) -> None:
        """It is said again, with what is newer by then."""
        self.reporter.section(SectionStatus("cache", State.FAILED))
        self.reporter.progress("c1", {"percent": 1})
        self.reporter.progress("c2", {"percent": 1})
        self.reporter.inventory({"images": 1})
        self.reporter.discovered(())
        lost = self.reporter.take(101)
        assert lost is not None
        self.reporter.progress("c1", {"percent": 2})
        self.reporter.failed(lost)
        self.reporter.section(CACHE)
        report = self.reporter.take(102)
        assert report is not None
        self.assertEqual(report.sections, (CACHE,))
        self.assertEqual(
            {each.command_id: each.data["percent"] for each in report.progress}, {"c1": 2, "c2": 1}
        )
        self.assertEqual((report.inventory, report.discovered), ({"images": 1}, ()))

    @given(st.lists(st.tuples(st.sampled_from(["look", "change", "lost"]), st.floats(0, 5))))
    def test_throttle(self, steps: list[tuple[str, float]]) -> None:
        """Never two reports within a second, and every change is told in the end."""
        reporter, now, last, version = Reporter(), 0.0, -1.0, 0
        told = None
        for what, passed in steps:
            now += passed
            if what == "change":
                version += 1
                reporter.section(SectionStatus("a", State.READY, str(version)))
            report = reporter.take(now)
            if report is not None:
                self.assertGreaterEqual(now - last, 1)
                last = now
                if what == "lost":
                    reporter.failed(report)
                elif report.sections:
                    told = report.sections[0].reason
        report = reporter.take(now + 2)
        if report is not None and report.sections:
            told = report.sections[0].reason
        if version:
            self.assertEqual(told, str(version))
